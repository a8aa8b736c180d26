"""Texts of the overview."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[str, tuple[str, str]]] = {
    "overview.title": ("概览", "Overview"),
    "overview.memories": ("记忆", "Memories"),
    "overview.messages": ("对话消息", "Messages"),
    "overview.conversations": ("对话", "Conversations"),
    "overview.reflections": ("反思", "Reflections"),
    "overview.counted_at": ("计数时间：", "Counted at"),
    "overview.domains": ("按领域", "By domain"),
    "overview.domain": ("领域", "Domain"),
    "overview.number": ("数量", "Number"),
    "overview.no_domains": ("还没有带领域的长期记忆。", "No long-term memory has a domain yet."),
    "overview.growth": ("增长", "Growth"),
    "overview.growth.table": ("增长数据", "The numbers of the chart"),
    "overview.until": ("截至", "Until"),
    "overview.total": ("记忆总数", "Memories in all"),
    "overview.empty": (
        "这个作用域里还没有记忆。用 jiyi store 或 REST、MCP 存入第一条。",
        "This scope has no memories yet. Store the first one with jiyi store, or over REST or MCP.",
    ),
    "overview.changes": ("最近的变化", "Recent changes"),
    "overview.no_changes": ("还没有变化。", "Nothing has changed yet."),
    "overview.health": ("健康状况", "Health"),
    "overview.healthy": ("一切正常。", "All is well."),
    "overview.unhealthy": ("需要处理：", "Something needs attention:"),
    "overview.doctor": ("完整诊断", "The whole diagnosis"),
    "by": ("操作者", "by"),
    "domain.general_chat": ("闲聊", "General chat"),
    "domain.user_preferences": ("用户偏好", "Preferences"),
    "domain.professional_and_academic": ("工作与学业", "Work and study"),
    "domain.lifestyle_and_interests": ("生活与兴趣", "Life and interests"),
    "domain.social_and_relationships": ("社交与关系", "People and relationships"),
    "domain.tasks_and_schedules": ("任务与日程", "Tasks and dates"),
    "type.fact": ("事实", "fact"),
    "type.message": ("消息", "message"),
    "type.reflection": ("反思", "reflection"),
    "type.note": ("笔记", "note"),
}
