"""Dates in questions: "last Tuesday", 去年春节, "between 3 and 5 March".

`find_dates` finds the expressions, `DateSpan` says whether a moment lies in one, and `without_dates` takes them out of
the text. The rules:

- A day, month, season or holiday without a year means any year; 去年 or "last" says which.
- A weekday alone is the nearest in the past, today included; "last Friday" is the nearest before today, 上周五 the
  Friday of last week. Weeks start on Monday.
- "Two weeks ago" is that day and half a unit around it (three days, fifteen days, half a year); "three days ago" is
  the day itself. "The last ten days" reach from ten days ago to today.
- Early, mid and late (上旬, 中旬, 下旬, 初, 底) are thirds: ten days of a month, four months of a year. The first
  week of a month is its first seven days.
- "Before" and "after" a day or a holiday are the ten days next to it; of a known month or year, everything.
- Seasons are those of the northern hemisphere, from the first of March, June, September and December.
- Lunar holidays are known from 1970 to 2100.
- Ambiguous words ("may", "march", 周杰伦) are not dates without further evidence.
"""

from jiyi.text.dates.find import find_dates, without_dates
from jiyi.text.dates.periods import Days, Kind, Yearly
from jiyi.text.dates.span import DateSpan

__all__ = ["DateSpan", "Days", "Kind", "Yearly", "find_dates", "without_dates"]
