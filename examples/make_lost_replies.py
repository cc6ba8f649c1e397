"""Make the incident in lost-replies/: an evening in a shop whose payment API commits and loses its replies.

    python examples/make_lost_replies.py [FOLDER]

Everything is drawn from one seed, so the files are the same on every machine; a test makes them again and compares.
"""

from __future__ import annotations

import csv
import random
import sys
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 20261130
START = datetime(2026, 11, 30, 9, 40, tzinfo=UTC)
MINUTES = 60
INCIDENT = (START + timedelta(minutes=30), START + timedelta(minutes=42))
ORDERS_PER_MINUTE = 9
TIMEOUT_S = 3.0
WAITS_S = (1.0, 2.0, 4.0)
LOST_SHARE = 0.55
REFUNDS = 6
AGENTS = ("ShopApp/7.2 (iOS 19.1)", "ShopApp/7.2 (Android 16)", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")


@dataclass
class Shop:
    """The ledger and the access log as they grow."""

    rng: random.Random
    payments: list[tuple[datetime, list[str], str]] = field(default_factory=list)
    lines: list[tuple[datetime, str]] = field(default_factory=list)

    def pay(
        self, at: datetime, order: Order, *, status: str = "APPROVED", amount: int | None = None, cause: str = ""
    ) -> None:
        """Book one row; `cause` is the planted truth, empty for what is lawful."""
        cells = [
            order.number,
            str(amount or order.amount),
            "KRW",
            "SALE",
            status,
            order.channel,
            order.customer,
            order.call,
        ]
        self.payments.append((at, cells, cause))

    def request(self, at: datetime, seconds: float, order: Order, *, attempt: int, status: int) -> None:
        """Write one log line; nginx writes and dates it when the request ends."""
        end = at + timedelta(seconds=seconds)
        size, upstream = ("0", "-") if status == 499 else ("118", str(status))
        self.lines.append(
            (
                end,
                (
                    f'{order.address} - - [{end:%d/%b/%Y:%H:%M:%S} +0000] "POST /v1/payments HTTP/1.1" {status} {size} '
                    f'"-" "{order.agent}" {seconds:.3f} "{attempt}" "-" "{order.call}" {upstream} {seconds:.3f}'
                ),
            )
        )


@dataclass
class Order:
    """One customer who wants to pay once."""

    number: str
    amount: int
    channel: str
    customer: str
    address: str
    agent: str
    call: str


def main(folder: Path) -> None:
    """Write payments.csv, access.log and truth.csv."""
    shop = Shop(random.Random(SEED))
    for n in range(MINUTES * ORDERS_PER_MINUTE):
        at = START + timedelta(minutes=MINUTES * shop.rng.random())
        buy(shop, at, new_order(shop.rng, n + 1))
    give_back(shop)
    write(shop, folder)


def new_order(rng: random.Random, n: int) -> Order:
    """A customer with a basket."""
    return Order(
        number=f"S26-{100000 + n}",
        amount=1000 * rng.randint(4, 120),
        channel=rng.choice(("app", "app", "web")),
        customer=f"M{rng.randint(1, 9000):05d}",
        address=f"198.51.100.{rng.randint(1, 250)}",
        agent=rng.choice(AGENTS),
        call=new_call(rng),
    )


def new_call(rng: random.Random) -> str:
    """A request id; one call keeps it over all its attempts."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def buy(shop: Shop, at: datetime, order: Order) -> None:
    """One purchase, with whatever goes with it."""
    draw = shop.rng.random()
    if draw < 0.02:
        answered(shop, at, order, status="DECLINED")
        order.call = new_call(shop.rng)
        answered(shop, at + timedelta(seconds=shop.rng.uniform(20, 60)), order)
    elif draw < 0.035:
        split(shop, at, order)
    elif draw < 0.05 and not in_incident(at):
        double_click(shop, at, order)
    else:
        call(shop, at, order)


def in_incident(at: datetime) -> bool:
    """Whether replies get lost at that time."""
    return INCIDENT[0] <= at < INCIDENT[1]


def answered(
    shop: Shop, at: datetime, order: Order, *, status: str = "APPROVED", amount: int | None = None, cause: str = ""
) -> None:
    """A request that is booked and answered."""
    seconds = shop.rng.lognormvariate(-2.6, 0.5)
    shop.pay(at + timedelta(seconds=0.7 * seconds), order, status=status, amount=amount, cause=cause)
    shop.request(at, seconds, order, attempt=1, status=402 if status == "DECLINED" else 201)


def split(shop: Shop, at: datetime, order: Order) -> None:
    """Card and points: two parts that add up to the price."""
    part = 500 * shop.rng.randint(1, order.amount // 500 - 1)
    answered(shop, at, order, amount=part)
    order.call = new_call(shop.rng)
    answered(shop, at + timedelta(seconds=shop.rng.uniform(2, 8)), order, amount=order.amount - part)


def double_click(shop: Shop, at: datetime, order: Order) -> None:
    """An impatient second click: another call, at once."""
    answered(shop, at, order)
    order.call = new_call(shop.rng)
    answered(shop, at + timedelta(seconds=shop.rng.uniform(0.3, 1.1)), order, cause="double_submit")


def call(shop: Shop, at: datetime, order: Order) -> None:
    """One call with its retries; during the incident the API books and the reply gets lost."""
    cause = ""
    for attempt, wait in enumerate((*WAITS_S, None), 1):
        seconds = shop.rng.lognormvariate(-2.6, 0.5)
        shop.pay(at + timedelta(seconds=0.7 * seconds), order, cause=cause)
        if not (in_incident(at) and shop.rng.random() < LOST_SHARE):
            shop.request(at, seconds, order, attempt=attempt, status=201)
            return
        waited = TIMEOUT_S + shop.rng.uniform(0.001, 0.02)
        shop.request(at, waited, order, attempt=attempt, status=499)
        cause = "retry"
        if wait is None:
            resend(shop, at, order)
            return
        at += timedelta(seconds=waited + wait + shop.rng.uniform(0.0, 0.03))


def resend(shop: Shop, at: datetime, order: Order) -> None:
    """The order counts as unknown; somebody in the back office keys it in again after the incident."""
    at = INCIDENT[1] + timedelta(minutes=shop.rng.uniform(3, 14))
    order.call, order.channel = new_call(shop.rng), "backoffice"
    order.address, order.agent = "192.0.2.10", "BackOffice/3.0"
    answered(shop, at, order, cause="manual_resend")


def give_back(shop: Shop) -> None:
    """Support has seen a few of them already and gave one excess payment back for each."""
    excess = [(at, cells) for at, cells, cause in sorted(shop.payments, key=lambda p: p[0]) if cause == "retry"]
    for at, cells in shop.rng.sample(excess, REFUNDS):
        later = max(at, INCIDENT[1]) + timedelta(minutes=shop.rng.uniform(2, 15))
        number, amount, currency, _, status, _, customer, _ = cells
        refund = [number, f"-{amount}", currency, "REFUND", status, "backoffice", customer, new_call(shop.rng)]
        shop.payments.append((later, refund, ""))


def write(shop: Shop, folder: Path) -> None:
    """The files, in order of time; payment ids are given in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    shop.payments.sort(key=lambda p: (p[0], p[1]))
    headings = [
        "payment_id",
        "order_no",
        "amount",
        "currency",
        "tx_type",
        "status",
        "channel",
        "member_id",
        "request_id",
        "approved_at",
    ]
    with (folder / "payments.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headings)
        for n, (at, cells, _) in enumerate(shop.payments, 1):
            writer.writerow([f"P{880000 + n}", *cells, f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"])
    with (folder / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["payment_id", "order_no", "amount", "is_excess", "cause"])
        for n, (_, cells, cause) in enumerate(shop.payments, 1):
            writer.writerow([f"P{880000 + n}", cells[0], cells[1], int(bool(cause)), cause])
    shop.lines.sort()
    (folder / "access.log").write_text("".join(f"{line}\n" for _, line in shop.lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "lost-replies")
