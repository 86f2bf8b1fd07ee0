"""Small functions, each with a correct source, a seeded bug, a half of its fix and two wrong fixes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Arguments = list[object]


@dataclass(frozen=True)
class Source:
    """One function in one language. The other versions replace `part` of the correct text."""

    good: str
    part: str
    bug: str
    half: str
    wrong: tuple[str, str]

    def version(self, text: str) -> str:
        if self.good.count(self.part) != 1:
            raise ValueError(f"{self.part!r} must stand once in the source")
        return self.good.replace(self.part, text)


@dataclass(frozen=True)
class Kata:
    """One function, the task in words, and the inputs that tests use."""

    name: str
    task: str
    inputs: Callable[[Random], list[Arguments]]
    python: Source
    node: Source | None = None


def _clamp(rng: Random) -> list[Arguments]:
    low, high = rng.randint(-9, 0), rng.randint(5, 30)
    return [[low + 1, low, high], [low - 3, low, high], [high + 4, low, high], [high + 9, low, high],
            [high + 5, high, low], [low - 5, high, low], [low + 2, low, high]]  # fmt: skip


def _median(rng: Random) -> list[Arguments]:
    odd = sorted(rng.sample(range(50), 5))
    even = sorted(rng.sample(range(0, 50, 2), 4))
    return [[odd], [[odd[2]]], [odd[::-1][:2] + odd[:1]], [[odd[4], odd[0], odd[1]]], [even], [even[::-1]],
            [[3, 3, 3]]]  # fmt: skip


def _leap(rng: Random) -> list[Arguments]:
    return [[4 * rng.randint(401, 424)], [rng.randint(400, 500) * 4 + 1], [2023], [1900], [2100], [2000], [2400]]


def _chunk(rng: Random) -> list[Arguments]:
    size = rng.randint(2, 4)
    full, rest = list(range(size * 3)), list(range(size * 2 + 1))
    return [[full, size], [[], size], [rest, size], [[7], size], [full, 0], [rest, -1]]


def _slug(rng: Random) -> list[Arguments]:
    word = rng.choice(["spool", "thread", "needle", "bobbin"])
    return [[word], [f"{word} two"], [f"Big {word}"], [f"{word.upper()} & co"], [f"a  {word}"], [f" {word}!"],
            [f"{word}: ok?"]]  # fmt: skip


def _roman(rng: Random) -> list[Arguments]:
    return [
        [rng.choice([1, 3, 7])],
        [rng.choice([12, 21, 33])],
        [60],
        [4],
        [9],
        [14],
        [40],
        [90],
        [rng.choice([44, 99])],
    ]


def _seconds(rng: Random) -> list[Arguments]:
    count = rng.randint(2, 40)
    return [[f"{count}s"], [f"{count}m"], [f"1m{count}s"], [f"{count}h"], [f"2h{count}m"], ["1d"], [f"3d{count}h"]]


def _merge(rng: Random) -> list[Arguments]:
    low = rng.randint(0, 9)
    return [[[]], [[[low, low + 2]]], [[[low, low + 4], [low + 2, low + 6]]], [[[low + 8, low + 9], [low, low + 2]]],
            [[[low + 3, low + 5], [low, low + 4]]], [[[low, low + 2], [low + 2, low + 3]]],
            [[[low + 4, low + 7], [low, low + 4]]]]  # fmt: skip


def _rotate(rng: Random) -> list[Arguments]:
    items = rng.sample(range(90), 5)
    return [[items, 0], [items, 5], [[4], 1], [items, 1], [items, 2], [items, 7], [items, 11], [[], 3]]


def _words(rng: Random) -> list[Arguments]:
    word = rng.choice(["red", "blue", "green"])
    return [[""], [word], [f"{word} {word}"], [f"{word} {word.title()}"], [f"{word.upper()} sky"], [f"{word}, {word}"],
            [f"sky. {word.title()}!"]]  # fmt: skip


KATAS = (
    Kata(
        "clamp",
        "`clamp(value, low, high)` must keep a value inside its bounds, whichever bound comes first.",
        _clamp,
        Source(
            "def clamp(value, low, high):\n    return sorted([low, value, high])[1]\n",
            "sorted([low, value, high])[1]",
            "max(low, value)",
            "max(low, min(value, high))",
            ("min(low, value)", "low"),
        ),
        Source(
            "function clamp(value, low, high) {\n  return [low, value, high].sort((a, b) => a - b)[1];\n}\n",
            "[low, value, high].sort((a, b) => a - b)[1]",
            "Math.max(low, value)",
            "Math.max(low, Math.min(value, high))",
            ("Math.min(low, value)", "low"),
        ),
    ),
    Kata(
        "median",
        "`median(values)` must sort, and take the mean of the two middle values of an even number.",
        _median,
        Source(
            "def median(values):\n    found = sorted(values)\n    middle = len(found) // 2\n"
            "    return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2\n",
            "found = sorted(values)\n    middle = len(found) // 2\n"
            "    return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2",
            "return values[len(values) // 2]",
            "return sorted(values)[len(values) // 2]",
            ("return sum(values) / len(values)", "return min(values)"),
        ),
        Source(
            "function median(values) {\n  const found = [...values].sort((a, b) => a - b);\n"
            "  const middle = Math.floor(found.length / 2);\n"
            "  return found.length % 2 ? found[middle] : (found[middle - 1] + found[middle]) / 2;\n}\n",
            "found.length % 2 ? found[middle] : (found[middle - 1] + found[middle]) / 2",
            "values[middle]",
            "found[middle]",
            ("found[0]", "found[found.length - 1]"),
        ),
    ),
    Kata(
        "leap",
        "`leap(year)` must follow the Gregorian calendar.",
        _leap,
        Source(
            "def leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n",
            "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
            "year % 2 == 1 or year % 4 == 0",
            "year % 4 == 0",
            ("year % 100 == 0", "year % 400 == 0"),
        ),
        Source(
            "function leap(year) {\n  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);\n}\n",
            "year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)",
            "year % 2 === 1 || year % 4 === 0",
            "year % 4 === 0",
            ("year % 100 === 0", "year % 400 === 0"),
        ),
    ),
    Kata(
        "chunk",
        "`chunk(items, size)` must keep a short last chunk, and return nothing for a size below one.",
        _chunk,
        Source(
            "def chunk(items, size):\n    if size < 1:\n        return []\n"
            "    return [items[at : at + size] for at in range(0, len(items), size)]\n",
            "if size < 1:\n        return []\n    return [items[at : at + size] for at in range(0, len(items), size)]",
            "return [items[at : at + size] for at in range(0, len(items) - size + 1, size)]",
            "return [items[at : at + size] for at in range(0, len(items), size)]",
            ("return [items]", "return [[item] for item in items]"),
        ),
        Source(
            "function chunk(items, size) {\n  const found = [];\n  if (size < 1) return found;\n"
            "  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));\n"
            "  return found;\n}\n",
            "if (size < 1) return found;\n"
            "  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));",
            "for (let at = 0; at + size <= items.length; at += Math.abs(size) || 99)"
            " found.push(items.slice(at, at + size));",
            "for (let at = 0; at < items.length; at += Math.abs(size) || 99) found.push(items.slice(at, at + size));",
            ("found.push(items);", "for (const item of items) found.push([item]);"),
        ),
    ),
    Kata(
        "slug",
        "`slug(text)` must return lower case words, joined by single dashes, without dashes at its ends.",
        _slug,
        Source(
            "import re\n\n\ndef slug(text):\n"
            '    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")\n',
            're.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")',
            're.sub(" ", "-", text)',
            're.sub(r"[^a-z0-9]+", "-", text.lower())',
            ('re.sub("x", "-", text.title())', 're.sub(" +", "_", text.lower())'),
        ),
        Source(
            "function slug(text) {\n"
            '  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");\n}\n',
            'text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")',
            'text.replace(/ /g, "-")',
            'text.toLowerCase().replace(/[^a-z0-9]+/g, "-")',
            ("text.toUpperCase()", 'text.toLowerCase().replace(/ +/g, "_")'),
        ),
    ),
    Kata(
        "roman",
        "`roman(number)` must use the subtractive forms: IV, IX, XL and XC.",
        _roman,
        Source(
            'SIGNS = [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV")'
            ', (1, "I")]\n\n\ndef roman(number):\n    said = ""\n    for value, sign in SIGNS:\n'
            "        while number >= value:\n            said += sign\n            number -= value\n    return said\n",
            '(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")',
            '(100, "C"), (50, "L"), (10, "X"), (5, "V"), (1, "I")',
            '(100, "C"), (50, "L"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")',
            ('(10, "X"), (5, "V"), (4, "IIII"), (1, "I")', '(1, "I")'),
        ),
    ),
    Kata(
        "seconds",
        "`seconds(text)` must read hours and days too: 2h30m, 3d2h.",
        _seconds,
        Source(
            'import re\n\nUNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}\n\n\ndef seconds(text):\n'
            '    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\\d+)([a-z])", text))\n',
            '"s": 1, "m": 60, "h": 3600, "d": 86400',
            '"s": 1, "m": 60',
            '"s": 1, "m": 60, "h": 3600',
            ('"s": 1, "m": 60, "h": 60, "d": 24', '"s": 1, "m": 60, "h": 0, "d": 0'),
        ),
    ),
    Kata(
        "merge",
        "`merge(ranges)` must join ranges that overlap or touch, in any order.",
        _merge,
        Source(
            "def merge(ranges):\n    found = []\n    for low, high in sorted(ranges):\n"
            "        if found and low <= found[-1][1]:\n            found[-1][1] = max(found[-1][1], high)\n"
            "        else:\n            found.append([low, high])\n    return found\n",
            "sorted(ranges):\n        if found and low <= found[-1][1]:",
            "ranges:\n        if found and found[-1][0] < low < found[-1][1]:",
            "sorted(ranges):\n        if found and low < found[-1][1]:",
            ("sorted(ranges):\n        if found:", "ranges:\n        if not ranges:"),
        ),
    ),
    Kata(
        "rotate",
        "`rotate(items, count)` must move the last `count` items to the front, for any count and any list.",
        _rotate,
        Source(
            "def rotate(items, count):\n    at = count % len(items) if items else 0\n"
            "    return items[len(items) - at :] + items[: len(items) - at]\n",
            "at = count % len(items) if items else 0\n    return items[len(items) - at :] + items[: len(items) - at]",
            "return list(items) or [None]",
            "return items[len(items) - count :] + items[: len(items) - count]",
            ("return items[::-1]", "return items[count:] + items[:count]"),
        ),
    ),
    Kata(
        "words",
        "`words(text)` must count words whatever their case, without punctuation.",
        _words,
        Source(
            "import re\n\n\ndef words(text):\n    counts = {}\n"
            '    for word in re.findall(r"\\w+", text.lower()):\n'
            "        counts[word] = counts.get(word, 0) + 1\n    return counts\n",
            're.findall(r"\\w+", text.lower())',
            "text.split()",
            "text.lower().split()",
            ("text.upper().split()", 'text.split(",")'),
        ),
    ),
)  # fmt: skip
