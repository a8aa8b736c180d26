"""Texts of the pages about notes and the runtime."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[str, tuple[str, str]]] = {
    "nav.notes": ("笔记", "Notes"),
    "nav.runtime": ("运行时", "Runtime"),
    "notes.title": ("笔记", "Notes"),
    "notes.no_workspace": (
        "这个记忆没有笔记文件夹。启动服务器时用设置 workspace 指定一个。",
        "This memory has no folder of notes. Name one with the setting workspace when the server starts.",
    ),
    "notes.no_notes": (
        "笔记属于打开记忆时的作用域，这个密钥看不到。",
        "The notes belong to the scope that the memory was opened with; this key does not see them.",
    ),
    "error.no_workspace": ("这个记忆没有笔记文件夹。", "This memory has no folder of notes."),
    "error.no_notes": ("这个密钥看不到笔记。", "This key does not see the notes."),
    "error.no_note": ("没有这个笔记。", "There is no such note."),
    "error.no_proposal": (
        "没有这个等待中的提议，可能已处理或过期。",
        "No such proposal waits; it was settled meanwhile or has expired.",
    ),
    "error.no_items": ("请至少选择一项。", "Choose at least one item."),
    "notes.files": ("文件", "Files"),
    "notes.file": ("文件", "File"),
    "notes.bytes": ("字节", "Bytes"),
    "notes.pieces": ("片段", "Pieces"),
    "notes.visible": ("可见", "Seen by"),
    "notes.shared": ("群组也可见", "groups too"),
    "notes.private": ("仅自己", "this scope only"),
    "notes.no_files": ("还没有笔记文件。", "There are no note files yet."),
    "notes.proposals": ("对 MEMORY.md 的提议", "Proposals for MEMORY.md"),
    "notes.proposal": ("提议", "Proposal"),
    "notes.no_proposals": ("没有等待处理的提议。", "No proposal waits."),
    "notes.made_by": ("来自", "made by"),
    "notes.expires": ("到期", "expires"),
    "notes.section": ("章节", "section"),
    "notes.accept": ("接受所选", "Accept the chosen ones"),
    "notes.reject": ("拒绝所选", "Reject the chosen ones"),
    "notes.diff": ("完整差异", "The whole diff"),
    "notes.days": ("最近天数", "Days to look back"),
    "notes.propose": ("生成提议", "Make a proposal"),
    "notes.rendered": ("排版", "Rendered"),
    "notes.raw": ("原文与作者", "Lines and authors"),
    "notes.who": (
        (
            "第二列是谁写的：程序写入的条目，以及提升或接受提议后进入 MEMORY.md 的内容都有记录；"
            "“手写”没有记录，是人或别的程序直接写进文件的，或后来改过的；“模板”随笔记文件夹创建；空行没有作者。"
        ),
        (
            "The second column says who wrote a line. Entries, and what was promoted or accepted into MEMORY.md, are "
            "recorded. By hand means that nothing is recorded: a person or another program wrote the line into the "
            "file, or changed it since. Template lines came with the folder. Empty lines have no author."
        ),
    ),
    "notes.by.user": ("用户", "user"),
    "notes.by.agent": ("智能体", "agent"),
    "notes.by.tool": ("工具", "tool"),
    "notes.by.import": ("导入", "import"),
    "notes.origin.promotion": ("提升", "promoted"),
    "notes.origin.proposal": ("已接受的提议", "accepted proposal"),
    "notes.origin.template": ("模板", "template"),
    "notes.origin.hand": ("手写", "by hand"),
    "notes.made_by.rules": ("规则", "rules"),
    "notes.from_conversation": ("来自对话", "from a conversation"),
    "notes.from_note": ("来自每日笔记", "from a daily note"),
    "notes.cut": (
        "显示第 {first} 到 {last} 行，共 {total} 行。",
        "Lines {first} to {last} of {total} are shown.",
    ),
    "done.proposed": ("提议已生成，尚未改动文件。", "The proposal is made. No file was changed."),
    "done.nothing_to_propose": ("没有可提议的内容。", "There is nothing to propose."),
    "done.proposal_accepted": (
        "已写入 MEMORY.md，之前的版本有备份。",
        "It is in MEMORY.md now; the version before is kept.",
    ),
    "done.proposal_rejected": ("已拒绝，不会再次提议。", "Rejected; it will not be proposed again."),
    # runtime
    "runtime.title": ("运行时记忆", "Runtime"),
    "runtime.hint": (
        "智能体按标签和强度使用的记忆：反馈使有用的变强，整理合并重复、让不用的淡去。运行时：",
        (
            "What agents recall by tags and strength: feedback strengthens what was useful, consolidation merges "
            "duplicates and lets the unused fade. Runtime:"
        ),
    ),
    "runtime.question": ("问题或对话", "A question, or a piece of conversation"),
    "runtime.recall": ("回忆", "Recall"),
    "runtime.found": ("回忆到的", "Recalled"),
    "runtime.with_tag": ("带标签", "With the tag"),
    "runtime.strength": ("强度", "Strength"),
    "runtime.score": ("得分", "Score"),
    "runtime.inactive": ("不活跃", "inactive"),
    "runtime.useful": ("有用", "It was useful"),
    "runtime.useless": ("没用", "It was not"),
    "runtime.nothing": ("没有合适的记忆。", "Nothing fits."),
    "runtime.tags": ("标签", "Tags"),
    "runtime.no_tags": ("还没有标签。", "There are no tags yet."),
    "runtime.consolidation": ("整理", "Consolidation"),
    "runtime.consolidation.hint": (
        "合并近似重复的记忆，让久未使用的弱记忆淡去，归档早已不活跃的。试运行不改动任何东西。",
        (
            "Merges near-duplicates, lets unused weak memories fade, archives what has long been inactive. A dry run "
            "changes nothing."
        ),
    ),
    "runtime.dry_run": ("试运行", "Dry run"),
    "runtime.plan": ("整理将会（尚未执行）：", "What consolidation would do (nothing was done):"),
    "runtime.examples": ("例如", "For example"),
    "runtime.plan.merged": ("合并", "merged away"),
    "runtime.plan.faded": ("变弱", "lose strength"),
    "runtime.plan.deactivated": ("其中不再活跃", "of these inactive"),
    "runtime.plan.archived": ("归档", "archived"),
    "runtime.do": ("执行整理", "Consolidate now"),
    "done.feedback": ("反馈已记录。", "The feedback is kept."),
    "done.consolidated": ("整理完成。", "Consolidated."),
    "error.no_memory": ("没有这条活跃的记忆。", "There is no such active memory."),
}
