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
    "timeline.empty": (
        "没有符合条件的记忆，时间线是空的。",
        "No memory fits, so there is nothing to draw yet.",
    ),
}
