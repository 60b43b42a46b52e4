#!/usr/bin/env python3
"""Show when a cron expression fires next, by the local clock.

usage: cron_next.py [-n COUNT] [--from YYYY-MM-DDTHH:MM] 'MIN HOUR DAY MONTH WEEKDAY'
Names (jan, mon), lists, ranges, steps and @daily-like words are understood. 0 and 7 are Sunday.
"""
import argparse
import datetime
import sys

WORDS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
         "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *"}
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
FIELDS = [("minute", 0, 59, []), ("hour", 0, 23, []), ("day", 1, 31, []), ("month", 1, 12, MONTHS), ("weekday", 0, 7, DAYS)]


def parse(text, field):
    name, low, high, names = field

    def number(word):
        if word.lower() in names:
            return names.index(word.lower()) + low
        if not word.isdigit() or not low <= int(word) <= high:
            raise ValueError(f"{name}: {word!r} is not within {low}–{high}")
        return int(word)

    values = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and (not step.isdigit() or int(step) == 0):
            raise ValueError(f"{name}: step {step!r}")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(number, span.split("-", 1))
            if first > last:
                raise ValueError(f"{name}: {span!r} runs backwards")
        else:
            first = number(span)
            last = high if slash else first
        values.update(range(first, last + 1, int(step) if slash else 1))
    return values


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("-n", type=int, default=5)
    args.add_argument("--from", dest="start")
    args.add_argument("expression")
    args = args.parse_args()
    parts = WORDS.get(args.expression.strip().lower(), args.expression).split()
    if len(parts) != 5:
        sys.exit(f"five fields wanted, {len(parts)} given")
    try:
        minutes, hours, days, months, weekdays = (parse(p, f) for p, f in zip(parts, FIELDS))
    except ValueError as error:
        sys.exit(str(error))
    weekdays = {d % 7 for d in weekdays}
    now = datetime.datetime.fromisoformat(args.start) if args.start else datetime.datetime.now()
    day, shown = now.date(), 0
    for _ in range(366 * 8):
        by_day, by_weekday = day.day in days, day.isoweekday() % 7 in weekdays
        # If both are restricted, either is enough: the rule that surprises.
        either = not parts[2].startswith("*") and not parts[4].startswith("*")
        if day.month in months and (by_day or by_weekday if either else by_day and by_weekday):
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    at = datetime.datetime.combine(day, datetime.time(hour, minute))
                    if at > now:
                        print(at.strftime("%a %Y-%m-%d %H:%M"))
                        shown += 1
                        if shown == args.n:
                            return
        day += datetime.timedelta(1)
    if not shown:
        sys.exit("never fires")


main()
