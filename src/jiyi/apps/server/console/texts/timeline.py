"""Texts of the timeline and the map."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[str, tuple[str, str]]] = {
    "nav.timeline": ("时间线", "Timeline"),
    "timeline.title": ("时间线：何时学到了什么", "Timeline: what was learned when"),
    "timeline.by": ("单位", "By"),
    "timeline.by.month": ("月", "month"),
    "timeline.by.week": ("周", "week"),
    "timeline.by.day": ("日", "day"),
    "timeline.room": ("类型", "Type"),
    "timeline.all": ("全部", "all"),
    "timeline.show": ("显示", "Show"),
    "timeline.period": ("时段", "Period"),
    "timeline.share": ("多少", "How much"),
    "timeline.closer": ("放大", "Closer"),
    "timeline.zone": ("日期按时区 {zone} 计算。", "Days are those of the time zone {zone}."),
    "timeline.earlier": ("更早", "Earlier"),
    "timeline.later": ("更晚", "Later"),
    "timeline.choose": ("点击一个时段，查看其中的记忆。", "Choose a period to see its memories."),
    "timeline.none": ("这个时段没有符合条件的记忆。", "No memory of this period fits."),
    "timeline.counting": ("正在计数，稍后再看。", "The memories are being counted; look again in a moment."),
    "timeline.empty": (
        "没有符合条件的记忆，时间线是空的。",
        "No memory fits, so there is nothing to draw yet.",
    ),
    "nav.map": ("地图", "Map"),
    "map.title": ("记忆地图", "Map of memories"),
    "map.hint": (
        "含义相近的记忆靠在一起。拖动、滚轮或双指缩放，点击打开。",
        "Memories of similar meaning lie together. Drag to move, wheel or pinch to zoom, click to open.",
    ),
    "map.newest": ("只画出最新的 {number} 条。", "Only the newest {number} are drawn."),
    "map.as_of": ("绘制时间：", "Drawn at"),
    "map.canvas": (
        "{number} 条记忆的地图；下面的列表有同样的内容。方向键移动，+ 和 - 缩放，0 复原。",
        "A map of {number} memories; the list below has the same. Arrows move, + and - zoom, 0 shows all.",
    ),
    "map.in": ("放大", "Zoom in"),
    "map.out": ("缩小", "Zoom out"),
    "map.whole": ("全部", "All"),
    "map.groups": ("分组", "Groups"),
    "map.more": ("还有 {number} 条", "{number} more"),
    "map.no_vectors": (
        "没有配置嵌入模型，无法按含义绘图。把设置 embedder 设为 bundled。",
        "No embedder is configured, so nothing can be drawn by meaning. Set embedder to bundled.",
    ),
    "map.drawing": ("正在计算地图，稍后再看。", "The map is being computed; look again in a moment."),
    "map.again": ("再看一次", "Look again"),
}
