"""Headings that no list has as a whole: their words say which column they name, or leave it open."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources.headings import name_by_words, plain, split_words


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("num_pedido", ("num", "pedido")),
        ("numPedido", ("num", "pedido")),
        ("Numéro de commande", ("numero", "de", "commande")),
        ("Bestelldatum", ("bestell", "datum")),
        ("TXNAMOUNT", ("txn", "amount")),
        ("주문번호", ("주문", "번호")),
        ("支付金额", ("支付", "金额")),
        ("ｃａｒｄ　ｎｏ", ("card", "no")),
        ("candidate", ("candidate",)),  # "date" is in it, but "candi" is no word
    ],
)
def test_a_heading_is_cut_into_its_words(heading: str, words: tuple[str, ...]) -> None:
    assert split_words(heading) == words


@pytest.mark.parametrize(
    ("headings", "named"),
    [
        (
            "id_pago num_pedido importe divisa fecha_hora estado",
            "payment_id order_id amount currency created_at status",
        ),
        ("no_transaction no_commande montant devise statut", "payment_id order_id amount currency status"),
        ("numero_pedido valor moeda situacao data_hora", "order_id amount currency status created_at"),
        ("订单号 支付金额 支付时间 支付状态 用户ID", "order_id amount created_at status customer_id"),
        ("ORDERNO TXNAMOUNT TXNDATE CUSTID", "order_id amount created_at customer_id"),
        ("Bestellnummer Zahlungsbetrag Bestelldatum", "order_id amount created_at"),
    ],
)
def test_the_words_of_a_heading_name_its_column(headings: str, named: str) -> None:
    assert name_by_words(headings.split(), "payments") == dict(zip(named.split(), headings.split(), strict=True))


@pytest.mark.parametrize(
    "heading", ["refund_amount", "discount_amount", "unit_price", "updated_at", "customer_name", "tax"]
)
def test_one_word_too_many_and_a_heading_names_nothing(heading: str) -> None:
    assert name_by_words([heading], "payments") == {}


def test_the_heading_that_says_less_besides_is_taken() -> None:
    assert name_by_words(["order_total", "total", "gross_total"], "payments") == {"amount": "total"}


def test_two_headings_that_say_the_same_leave_it_open() -> None:
    assert name_by_words(["importe_pagado", "importe_cobrado"], "payments") == {}


@pytest.mark.parametrize(
    ("headings", "named"),
    [
        (["usuario"], {"customer_id": "usuario"}),
        (["usuario", "cod_cliente"], {"customer_id": "cod_cliente", "operator": "usuario"}),
    ],
)
def test_a_user_is_the_customer_unless_another_column_is(headings: list[str], named: dict[str, str]) -> None:
    assert name_by_words(headings, "payments") == named


def test_a_settlement_is_named_by_words_of_its_own() -> None:
    headings = ["ref_transaccion", "importe_bruto", "comision", "importe_neto", "fecha_abono"]
    assert name_by_words(headings, "settlements") == dict(
        zip(("provider_ref", "amount", "fee", "net", "payout"), headings, strict=True)
    )


def test_accents_are_of_no_account_but_kana_keep_their_marks() -> None:
    assert [plain(w) for w in ("Währung", "SITUAÇÃO", "płatność", "が")] == ["wahrung", "situacao", "platnosc", "が"]


@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_headings_at_all_name_each_column_and_each_heading_once(headings: list[str]) -> None:
    named = name_by_words(headings, "payments")
    assert set(named.values()) <= set(headings)
    assert all(a != b for a, b in pairwise(sorted(named.values())))


@given(st.text(max_size=40))
def test_no_letter_or_digit_of_a_heading_is_lost(heading: str) -> None:
    assert "".join(split_words(heading)) == "".join(c for c in plain(heading) if c.isalnum())
