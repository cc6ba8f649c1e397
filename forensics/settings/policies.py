"""The users' own retry policies: what their gateway and workers do, in the words of the catalogue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from forensics.analysis.catalogue import OWN, entry_of
from forensics.analysis.schedules import JITTERS, SHAPES, waits
from forensics.errors import UsageError
from forensics.model import CatalogueEntry
from forensics.settings.fields import Field, Place, read_table

_SECONDS = "seconds, zero or more"
FIELDS = {
    "id": Field(str, 'a name such as "our-gateway"', required=True),
    "product": Field(str, 'text such as "our gateway, before 4.2"'),
    "shape": Field(str, f"one of {', '.join(SHAPES)}", SHAPES),
    "base_s": Field(float, _SECONDS, least=0),
    "factor": Field(float, "a number, zero or more", least=0),
    "cap_s": Field(float, _SECONDS, least=0),
    "waits_s": Field(list, "waits before attempts 2, 3, ... in seconds, such as [1, 2, 4]", least=0),
    "first_wait_s": Field(float, _SECONDS, least=0),
    "jitter": Field(str, f"one of {', '.join(JITTERS)}", JITTERS),
    "jitter_share": Field(float, "the x of d(1±x), such as 0.2", least=0),
    "jitter_max_s": Field(float, _SECONDS, least=0),
    "timeout_s": Field(float, _SECONDS, least=0),
    "max_attempts": Field(int, "tries, the first included: 2 or more", least=2),
    "note": Field(str, "text"),
}
_SHOWN_WAITS = 8


def read_policy(place: Place, table: object, taken: Collection[str]) -> CatalogueEntry:
    """One policy as an entry of the catalogue. `taken`: ids that it may not have.

    Raises:
        UsageError: the table cannot describe a policy.
    """
    given = read_table(place, table, FIELDS)
    if given["id"] in taken or not given["id"].strip():
        raise place.refuse("id", given["id"], "a name that no other policy of the catalogue has")
    _check_whole(place, given)
    entry = entry_of(_raw(given))
    limit = given.get("max_attempts", 0)
    steps = len(given["waits_s"]) if "waits_s" in given else min(limit - 1, _SHOWN_WAITS) if limit else _SHOWN_WAITS
    return replace(entry, expected_waits_s=waits(entry.policy, steps))


def _check_whole(place: Place, given: dict[str, Any]) -> None:
    """Waits are a list or a shape with a base, not both; a jitter comes with its amount."""
    if ("waits_s" in given) == ("base_s" in given) and given.get("shape") != "none":
        raise UsageError(
            f"{place}: expected either base_s or waits_s, found {'both' if 'base_s' in given else 'neither'}",
            'for example: shape = "fixed", base_s = 2, max_attempts = 4, timeout_s = 10',
        )
    if "waits_s" in given and given.get("shape", "schedule") != "schedule":
        raise place.refuse("shape", given["shape"], "none beside waits_s, which are the schedule")
    if "waits_s" in given and not given["waits_s"]:
        raise place.refuse("waits_s", [], FIELDS["waits_s"].expected)
    if "base_s" in given and given.get("shape") == "schedule":
        raise place.refuse("shape", "schedule", "waits_s where the shape is a schedule")
    for jitter, amount in (("proportional", "jitter_share"), ("additive", "jitter_max_s")):
        if (given.get("jitter") == jitter) != (amount in given):
            raise UsageError(f"{place}: expected {amount} with jitter = {jitter!r}, and only there")


def _raw(given: dict[str, Any]) -> dict[str, Any]:
    """The table as data/policies.toml would have it."""
    raw = {key: value for key, value in given.items() if key not in ("waits_s", "jitter_share")}
    if "waits_s" in given:
        raw |= {"expected_waits_s": given["waits_s"], "shape": "schedule"}
    if "jitter_share" in given:
        low, high = 1 - given["jitter_share"], 1 + given["jitter_share"]
        raw |= {"jitter": "multiplicative", "jitter_low": low, "jitter_high": high}
    own = {"product": given["id"], "kind": OWN, "language": "", "version": "", "shape": "fixed"}
    return {**own, "source": "the users' own settings", "confidence": "given", **raw}
