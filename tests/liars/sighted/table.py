"""All claims of this folder."""

from __future__ import annotations

from tests.liars.blind.case import Case

from . import honest, honest_more, liars_files, liars_more

CASES: tuple[Case, ...] = (*liars_files.CASES, *liars_more.CASES, *honest.CASES, *honest_more.CASES)
