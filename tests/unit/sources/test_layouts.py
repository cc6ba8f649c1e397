"""Exports known by the product that wrote them: a file of each, and the row that it gives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from forensics import schema
from forensics.sources import values
from forensics.sources.derived import HOW
from forensics.sources.layouts import layouts

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk


@dataclass(frozen=True)
class Export:
    """A file of one row, and what it says. In a settlement `status` is the movement."""

    layout: str
    text: str
    order_id: str | None
    amount: str
    currency: str | None
    status: str
    at: str
    kind: str | None = None


def table(headings: str, *rows: str, mark: str = ",") -> str:
    """Delimited text as it is written."""
    return "\n".join((headings, *rows)).replace("|", mark) + "\n"


def lines(*rows: dict[str, object]) -> str:
    """JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


AT = "2026-03-14 09:26:53"
EXPORTS = [
    Export(
        "stripe_charges_export",
        table(
            "id|Description|Created (UTC)|Amount|Amount Refunded|Currency|Status|Captured|order_id (metadata)",
            "ch_1|Subscription|2026-03-14 09:26:53|39.80|0.00|usd|Paid|true|A-1",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "stripe_charges_export",
        table(
            "id|Created (UTC)|Amount|Amount Refunded|Currency|Status|Captured|order_id (metadata)",
            "ch_1|2026-03-14 09:26:53|39.80|0.00|usd|Paid|false|A-1",
        ),
        *("A-1", "39.80", "USD", "authorised", AT, "charge"),
    ),
    Export(
        "stripe_charge_api",
        lines(
            {
                "id": "ch_1",
                "amount": 3980,
                "amount_captured": 3980,
                "amount_refunded": 0,
                "currency": "usd",
                "created": 1773480413,
                "status": "succeeded",
                "captured": True,
                "metadata": {"order_id": "A-1"},
            }
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "stripe_payment_intent_api",
        lines(
            {
                "id": "pi_1",
                "amount": 3980,
                "amount_received": 3980,
                "currency": "jpy",
                "created": 1773480413,
                "status": "succeeded",
                "metadata": {"order_id": "A-1"},
            }
        ),
        *("A-1", "3980", "JPY", "captured", AT, "charge"),
    ),
    Export(
        "stripe_balance_transaction_api",
        lines(
            {
                "id": "txn_1",
                "amount": -3980,
                "fee": 0,
                "net": -3980,
                "currency": "usd",
                "created": 1773480413,
                "available_on": 1773600000,
                "reporting_category": "refund",
                "source": "re_1",
            }
        ),
        *(None, "-39.80", "USD", "refund", AT),
    ),
    Export(
        "stripe_itemized_balance",
        table(
            "balance_transaction_id|created_utc|created|currency|gross|fee|net|reporting_category|charge_id|"
            "payment_metadata[order_id]",
            "txn_1|2026-03-14 09:26:53|2026-03-14 01:26:53|usd|39.80|1.46|38.34|charge|ch_1|A-1",
        ),
        *("A-1", "39.80", "USD", "payment", AT),
    ),
    Export(
        "stripe_balance_history",
        table(
            "id|Type|Source|Amount|Fee|Net|Currency|Created (UTC)|Available On (UTC)|Status|Description",
            "txn_1|stripe_fee||-5.00|0.00|-5.00|usd|2026-03-14 09:26:53|2026-03-16 00:00|pending|Radar",
        ),
        *("Radar", "-5.00", "USD", "fee", AT),
    ),
    Export(
        "adyen_settlement_detail",
        table(
            "Psp Reference|Merchant Reference|Creation Date|TimeZone|Type|Gross Currency|Gross Debit (GC)|"
            "Gross Credit (GC)|Net Currency|Net Debit (NC)|Net Credit (NC)|Commission (NC)|Markup (NC)|Batch Number",
            "P1|A-1|2026-03-14 10:26:53|CET|Refunded|EUR|39.80||EUR|40.00||0.10|0.10|7",
        ),
        *("A-1", "-39.80", "EUR", "refund", AT),
    ),
    Export(
        "adyen_payment_accounting",
        table(
            "Psp Reference|Merchant Reference|Booking Date|TimeZone|Record Type|Main Currency|Main Amount|Payable (SC)",
            "P1|A-1|2026-03-14 10:26:53|CET|SentForSettle|EUR|39.80|",
        ),
        *("A-1", "39.80", "EUR", "pending", AT, "capture"),
    ),
    Export(
        "paypal_settlement",
        table(
            "CH|Transaction ID|Invoice ID|Transaction Event Code|Transaction Completion Date|"
            "Transaction Debit or Credit|Gross Transaction Amount|Gross Transaction Currency|Fee Debit or Credit|"
            "Fee Amount",
            "SB|T1|A-1|T1107|2026/03/14 01:26:53 -0800|DR|3980|USD|CR|30",
        ),
        *("A-1", "-39.80", "USD", "refund", AT),
    ),
    Export(
        "paypal_activity",
        table(
            "Date|Time|TimeZone|Type|Status|Currency|Gross|Fee|Net|Transaction ID|Invoice Number|Balance Impact",
            '03/14/2026|02:26:53|PDT|General Authorization|Completed|USD|"1,250.00"|0.00|"1,250.00"|T1|A-1|Memo',
        ),
        *("A-1", "1250.00", "USD", "authorised", AT, "authorisation"),
    ),
    Export(
        "paypal_transactions_api",
        json.dumps(
            {
                "transaction_details": [
                    {
                        "transaction_info": {
                            "transaction_id": "T1",
                            "invoice_id": "A-1",
                            "transaction_event_code": "T0006",
                            "transaction_amount": {"currency_code": "USD", "value": "39.80"},
                            "fee_amount": {"currency_code": "USD", "value": "-1.46"},
                            "transaction_updated_date": "2026-03-14T09:26:53+0000",
                            "transaction_status": "S",
                        }
                    }
                ],
                "links": [{"href": "x"}],
            }
        ),
        *("A-1", "39.80", "USD", "payment", AT),
    ),
    Export(
        "square_payments_api",
        lines(
            {
                "id": "p1",
                "order_id": "A-1",
                "created_at": "2026-03-14T09:26:53Z",
                "status": "COMPLETED",
                "amount_money": {"amount": 3980, "currency": "USD"},
            }
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "square_transactions",
        table(
            "Date|Time|Time Zone|Total Collected|Fees|Net Total|Transaction ID|Payment ID|Event Type",
            "2026-03-14|05:26:53|Eastern Time (US & Canada)|-$39.80|$0.00|-$39.80|A-1|P1|Refund",
        ),
        *("A-1", "-39.80", None, "captured", AT, "refund"),
    ),
    Export(
        "braintree_api",
        lines(
            {
                "id": "t1",
                "orderId": "A-1",
                "createdAt": "2026-03-14T09:26:53.000000Z",
                "status": "SETTLING",
                "merchantAccountId": "m",
                "amount": {"value": "39.80", "currencyCode": "USD"},
                "refundedTransaction": {"id": "t0"},
            }
        ),
        *("A-1", "39.80", "USD", "captured", AT, "refund"),
    ),
    Export(
        "braintree_search",
        table(
            "Transaction ID|Transaction Type|Transaction Status|Created Datetime|Created Timezone|Order ID|"
            "Amount Authorized|Currency ISO Code",
            "t1|sale|submitted_for_settlement|2026-03-14 09:26:53|UTC|A-1|39.80|USD",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "razorpay_recon",
        table(
            "entity_id|type|debit|credit|amount|currency|fee|created_at|settlement_id|order_receipt",
            "adj_1|adjustment|3980|0|3980|INR|0|1773480413|s1|A-1",
        ),
        *("A-1", "-39.80", "INR", "refund", AT),
    ),
    Export(
        "razorpay_recon",
        table(
            "entity_id|type|debit|credit|amount|currency|fee|created_at|settlement_id|order_receipt",
            "pay_1|payment|0.00|38.80|39.80|INR|1.00|14/03/2026 14:56:53|s1|A-1",
        ),
        *("A-1", "39.80", "INR", "payment", AT),
    ),
    Export(
        "mollie_settlement",
        table(
            "Date|Payment method|Currency|Amount|Status|ID|Description|Settlement currency|Settlement amount|"
            "Settlement reference",
            "2026-03-14 09:26:53|refund|EUR|-39.80|refunded|re_1|A-1|EUR|-39.80|7.2603.01",
        ),
        *("A-1", "-39.80", "EUR", "refund", AT),
    ),
    Export(
        "checkout_com_settlement",
        table(
            "Type|Payment ID|Reference|Processed On|Holding Currency|Payout ID|Gross In Holding Currency|"
            "Deduction In Holding Currency|Net In Holding Currency",
            "Charge|pay_1|A-1|2026-03-14T09:26:53.000|USD|po|39.8|-1.5|38.3",
        ),
        *("A-1", "39.80", "USD", "payment", AT),
    ),
    Export(
        "gr4vy_transactions",
        table(
            "id|external_identifier|status|created_at|amount|currency|captured_amount|refunded_amount",
            "u1|A-1|capture_succeeded|2026-03-14T09:26:53+00:00|3980|USD|3980|0",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "dlocal_settlement",
        table(
            "ROW_TYPE|APPROVED_DATE|TRANSACTION_ID|DLOCAL_TRANSACTION_ID|LOCAL_AMOUNT|LOCAL_CURRENCY|GROSS_AMOUNT|"
            "FEE_AMOUNT|NET_AMOUNT|STATUS",
            "REFUND|2026-03-14 09:26:53|A-1|D1|39.80|BRL|7.20|0|7.20|PAID",
        ),
        *("A-1", "-39.80", "BRL", "refund", AT),
    ),
    Export(
        "dlocal_transactions",
        table(
            "Type|Creation date|Reference|Invoice|Net Amount (local)|Amount (USD)|currency|Status|Transaction Invoice",
            "Chargebacks|2026-03-14 09:26:53|D1||39.80||BRL|Settled|A-1",
            mark=";",
        ),
        *("A-1", "39.80", "BRL", "captured", AT, "chargeback"),
    ),
    Export(
        "toss_payments",
        lines(
            {
                "paymentKey": "k",
                "orderId": "A-1",
                "status": "CANCELED",
                "totalAmount": 39800,
                "currency": "KRW",
                "requestedAt": "2026-03-14T18:26:50+09:00",
                "approvedAt": "2026-03-14T18:26:53+09:00",
            }
        ),
        *("A-1", "39800", "KRW", "voided", AT, "charge"),
    ),
    Export(
        "kakaopay",
        lines(
            {
                "aid": "A9",
                "tid": "T9",
                "partner_order_id": "A-1",
                "amount": {"total": 15000, "vat": 1364},
                "created_at": "2026-03-14T18:26:50",
                "approved_at": "2026-03-14T18:26:53",
            }
        ),
        *("A-1", "15000", "KRW", "captured", AT, "charge"),
    ),
    Export(
        "kg_inicis",
        table("P_STATUS|P_AUTH_DT|P_TID|P_AMT|P_TYPE|P_OID", "00|20260314182653|T1|15000|VBANK|A-1"),
        *("A-1", "15000", "KRW", "pending", AT, "charge"),
    ),
    Export(
        "lg_uplus_xpay",
        table("LGD_RESPCODE|LGD_OID|LGD_AMOUNT|LGD_TID|LGD_PAYDATE", "0000|A-1|15000|T1|20260314182653"),
        *("A-1", "15000", "KRW", "captured", AT, "charge"),
    ),
    Export(
        "korea_approval_list",
        table(
            "NO|승인일시|승인금액|할부|카드사|승인번호|TID|구분|거래번호|주문번호",
            '1|2026-03-14 18:26:53|"15,000원"|일시불|신한|30012345|T1|실패|G1|A-1',
        ),
        *("A-1", "15000", "KRW", "failed", AT),
    ),
    Export(
        "korea_approval_list",
        table(
            "NO|승인일시|승인금액|할부|카드사|승인번호|TID|구분|거래번호|주문번호",
            '1|2026-03-14 18:26:53|"-15,000"|일시불|신한|30012345|T1|취소|G1|A-1',
        ),
        *("A-1", "-15000", "KRW", "captured", AT, "refund"),
    ),
    Export(
        "gmo_pg",
        table("ショップID|オーダーID|状態|処理日時|取引ID|利用金額", "s1|A-1|即時売上|2026/03/14 18:26:53|g1|3980"),
        *("A-1", "3980", "JPY", "captured", AT, "charge"),
    ),
    Export(
        "shopify_orders",
        table(
            "Name|Email|Financial Status|Paid at|Currency|Total|Created at|Lineitem quantity|Payment ID",
            "#1001|a@x|partially_refunded|2026-03-14 10:26:53 +0100|EUR|39.80|2026-03-14 10:26:50 +0100|1|r1",
        ),
        *("#1001", "39.80", "EUR", "captured", AT, "charge"),
    ),
    Export(
        "shopify_payout_transactions",
        table(
            "Transaction Date|Type|Order|Payout Status|Payout Date|Payout ID|Amount|Fee|Net|Checkout|Currency",
            "2026-03-14 10:26:53 +0100|charge|#1001|paid|2026-03-16|7|39.80|1.46|38.34|#c1|EUR",
        ),
        *("#1001", "39.80", "EUR", "payment", AT),
    ),
    Export(
        "woocommerce_orders",
        table(
            "id|status|currency|type|total_amount|date_created_gmt|parent_order_id|transaction_id",
            "780|wc-completed|USD|shop_order_refund|-39.80000000|2026-03-14 09:26:53|778|",
            mark="\t",
        ),
        *("778", "-39.80", "USD", "captured", AT, "refund"),
    ),
    Export(
        "magento_transactions",
        table(
            "transaction_id|increment_id|txn_id|parent_txn_id|txn_type|is_closed|amount_paid|created_at",
            "1|000042|ch_1||authorization|0|39.8000|2026-03-14 09:26:53",
        ),
        *("000042", "39.80", None, "authorised", AT, "authorisation"),
    ),
    Export(
        "saleor_transaction_item",
        table(
            "token|created_at|psp_reference|currency|charged_value|authorized_value|refunded_value|order_id|status",
            "t1|2026-03-14 09:26:53+00|P1|USD|39.80|0|0|A-1|fully-charged",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "saleor_transaction_event",
        table(
            "id|created_at|status|psp_reference|transaction_id|currency|type|amount_value|include_in_calculations",
            "1|2026-03-14 09:26:53+00||P1|501|USD|refund_success|39.80|t",
        ),
        *("501", "39.80", "USD", "captured", AT, "refund"),
    ),
    Export(
        "saleor_payment",
        table(
            "gateway|charge_status|token|total|captured_amount|currency|order_id|created_at",
            "g|fully-refunded|t1|39.80|39.80|USD|A-1|2026-03-14 09:26:53+00",
        ),
        *("A-1", "39.80", "USD", "refunded", AT, "charge"),
    ),
    Export(
        "spree_payments",
        table(
            "id|amount|order_id|state|response_code|number|created_at",
            "1|39.80|1001|pending|ch_1|P7XK2A|2026-03-14 09:26:53",
        ),
        *("1001", "39.80", None, "authorised", AT, "charge"),
    ),
    Export(
        "odoo_payment_transaction",
        table(
            "reference|provider_reference|amount|currency_id|state|operation|last_state_change",
            "S00042|pi_1|-39.80|EUR|done|refund|2026-03-14 09:26:53",
        ),
        *("S00042", "-39.80", "EUR", "captured", AT, "refund"),
    ),
    Export(
        "killbill_attempts",
        table(
            "record_id|id|payment_external_key|transaction_id|transaction_external_key|transaction_type|state_name|"
            "amount|currency|created_date",
            "1|u|A-1|t1|k1|PURCHASE|SUCCESS|39.800000000|USD|2026-03-14 09:26:53",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "charge"),
    ),
    Export(
        "killbill_transactions",
        table(
            "id|transaction_external_key|transaction_type|effective_date|transaction_status|amount|currency|payment_id",
            "t1|k1|CHARGEBACK|2026-03-14 09:26:53|SUCCESS|39.800000000|USD|A-1",
        ),
        *("A-1", "39.80", "USD", "captured", AT, "chargeback"),
    ),
    Export(
        "hyperswitch_payment_attempt",
        table(
            "payment_id|merchant_id|attempt_id|status|amount|currency|connector|connector_transaction_id|created_at",
            "A-1|m|A-1_1|router_declined|3980|USD|adyen||2026-03-14 09:26:53.000",
        ),
        *("A-1", "39.80", "USD", "failed", AT, "charge"),
    ),
    Export(
        "medusa_payment",
        table(
            "id|amount|currency_code|order_id|created_at|captured_at|canceled_at",
            "pay_1|39.8|usd|A-1|2026-03-14 09:26:53+00||",
        ),
        *("A-1", "39.80", "USD", "authorised", AT, "charge"),
    ),
    Export(
        "erpnext_payment_entry",
        table(
            "ID|Payment Type|Posting Date|Party|Paid Amount|Received Amount|Cheque/Reference No|Status|Created On",
            'ACC-1|Receive|2026-03-14|C-1|"1,250.00"|"1,250.00"|A-1|Cancelled|2026-03-14 09:26:53',
        ),
        *("A-1", "1250", None, "voided", AT, "charge"),
    ),
    Export(
        "venmo",
        table(
            " ID|Datetime|Type|Status|Note|Amount (total)|Amount (fee)",
            "1|2026-03-14T09:26:53|Payment|Complete|Rent|- $220.00|",
        ),
        *("Rent", "-220.00", "USD", "refund", AT),
    ),
    Export(
        "gopay",
        table(
            "ID pohybu|Datum|Typ|ID objednávky/VS|Částka|Měna",
            "3|14.03.2026 09:26|Poplatek za platbu|A-1|-11,50|CZK",
            mark=";",
        ),
        *("A-1", "-11.50", "CZK", "fee", "2026-03-14 09:26:00"),
    ),
    Export(
        "comgate",
        table(
            "Datum založení|Datum zaplacení|ID ComGate|ID od klienta|Měna|Potvrzená částka|Převedená částka|"
            "Poplatek celkem",
            "13.03.2026|14.03.2026|C1|A-1|CZK|500,00|490,00|10,00",
            mark=";",
        ),
        *("A-1", "500", "CZK", "payment", "2026-03-14 00:00:00"),
    ),
    Export(
        "barion",
        table(
            "Transaction time|Transaction type|Transaction amount|Currency|Payment ID generated by shop|"
            "Unique payment ID generated by Barion",
            "2026-03-14 09:26:53|Refund|-39.80|EUR|A-1|B1",
        ),
        *("A-1", "-39.80", "EUR", "refund", AT),
    ),
    Export(
        "amazon_date_range",
        table(
            "date/time|settlement id|type|order id|product sales|selling fees|total",
            "2026-03-14 09:26:53|7|Order|A-1|39.80|-5.00|34.80",
        ),
        *("A-1", "39.80", None, "payment", AT),
    ),
    Export(
        "ebay_transactions",
        table(
            "Transaction creation date|Type|Order number|Net amount|Payout currency|Payout ID|Transaction ID|"
            "Gross transaction amount|Transaction currency",
            '"Mar 14, 2026"|Order|A-1|35.00|USD|7|T1|39.80|USD',
        ),
        *("A-1", "39.80", "USD", "payment", "2026-03-14 00:00:00"),
    ),
    Export(
        "etsy_statement",
        table(
            "Date|Type|Title|Info|Currency|Amount|Fees & Taxes|Net",
            '"March 14, 2026"|Sale|Payment for Order #1|Order #1|USD|$39.80|-$1.50|$38.30',
        ),
        *("Order #1", "39.80", "USD", "payment", "2026-03-14 00:00:00"),
    ),
    Export(
        "tiktok_shop",
        table(
            "Order/adjustment ID|Type|Order settled time|Currency|Total settlement amount|Total revenue",
            "A-1|Order|2026/03/14|USD|35.00|39.80",
        ),
        *("A-1", "39.80", "USD", "payment", "2026-03-14 00:00:00"),
    ),
    Export(
        "camt",
        table(
            "MsgId|CreDtTm|EndToEndId|TxId|Amt|Ccy|CdtDbtInd|Sts|BookgDt",
            "M1|2026-03-15T00:00:00Z|A-1|T1|39.80|EUR|DBIT|BOOK|2026-03-14T09:26:53Z",
        ),
        *("A-1", "-39.80", "EUR", "refund", AT),
    ),
    Export(
        "sparkasse_csv_camt",
        table(
            "Auftragskonto|Buchungstag|Verwendungszweck|Kundenreferenz (End-to-End)|Betrag|Waehrung|Info",
            "DE00|14.03.26|Danke|A-1|1.039,80|EUR|Umsatz gebucht",
            mark=";",
        ),
        *("A-1", "1039.80", "EUR", "payment", "2026-03-13 23:00:00"),
    ),
    Export(
        "mint",
        table(
            "Date|Description|Original Description|Amount|Transaction Type|Category",
            "3/14/2026|Shop|SHOP 12345|39.80|credit|Sales",
        ),
        *("SHOP 12345", "39.80", None, "payment", "2026-03-14 00:00:00"),
    ),
    Export(
        "bank_marked",
        table("Date|Label|Amount|D/C|Balance", "12/15/2026|Rent|33.50|D|-23.50"),
        *("Rent", "-33.50", None, "refund", "2026-12-15 00:00:00"),
    ),
    Export(
        "bank_signed",
        table("Date|Description|Amount|Balance", "2026-03-14|Rent|-33.50|-23.50"),
        *("Rent", "-33.50", None, "refund", "2026-03-14 00:00:00"),
    ),
    Export(
        "bank_debit_credit",
        table("Datum|Buchungstext|Soll|Haben|Saldo", "14.03.2026|Miete|1.033,50||-23,50", mark=";"),
        *("Miete", "-1033.50", None, "refund", "2026-03-13 23:00:00"),
    ),
    Export(
        "bank_debit_credit",
        table("거래일시|적요|출금액|입금액|잔액", '2026.03.14 18:26:53|이체|0|"9,900"|"12,000"'),
        *("이체", "9900", "KRW", "payment", AT),
    ),
    Export(
        "bank_debit_credit",
        table("日付|摘要|お支払金額|お預り金額|差引残高", '2026/03/14|振込|"3,980"||"12,000"'),
        *("振込", "-3980", "JPY", "refund", "2026-03-13 15:00:00"),
    ),
]


@pytest.mark.parametrize("export", EXPORTS, ids=[e.layout for e in EXPORTS])
def test_an_export_is_known_and_read(desk: Desk, export: Export) -> None:
    (layout,) = (each for each in layouts() if each.id == export.layout)
    source = desk.source(export.text, "export.json" if export.text.startswith("{") else "export.csv")
    assert f"layout of {layout.product}" in source.notes
    assert source.kind == layout.kind
    if source.kind == "payments":
        (row,) = desk.rows("SELECT order_id, amount, currency, status, CAST(created_at AS VARCHAR), kind FROM payments")
        assert export.kind is None or row[5] == export.kind
    else:
        (row,) = desk.rows("SELECT order_id, amount, currency, movement, CAST(settled_at AS VARCHAR) FROM settlements")
    assert row[:5] == (export.order_id, Decimal(export.amount), export.currency, export.status, export.at)


def test_every_layout_has_its_export_here() -> None:
    # What it takes to be a SWIFT statement has tests of its own.
    assert {e.layout for e in EXPORTS} | {"mt940"} == {layout.id for layout in layouts()}


def test_layouts_name_only_columns_and_words_that_there_are() -> None:
    statuses = {*values.words()["status"].values(), "unknown"}
    for layout in layouts():
        columns = {column.name for column in schema.table(layout.kind).columns}
        assert set(layout.columns) <= columns, layout.id
        assert set(layout.status.values()) <= statuses, layout.id
        assert {rule.how for rule in layout.columns.values() if rule} <= set(HOW), layout.id


# Debit and credit apart -----------------------------------------------------------------------------------------

BANK = "Date,Label,Debit,Credit,Balance\n"


def test_exactly_one_of_debit_and_credit_is_filled_else_the_row_is_rejected(desk: Desk) -> None:
    rows = "2026-03-14,a,5.00,,1\n2026-03-14,b,0.00,7.00,1\n2026-03-14,c,5.00,7.00,1\n2026-03-14,d,,,1\n"
    source = desk.source(BANK + rows)
    assert source.rows_loaded == 2
    assert desk.rows("SELECT line_no, amount FROM settlements ORDER BY 1") == [(2, Decimal(-5)), (3, Decimal(7))]
    assert desk.rejects() == [
        (4, "amount: an amount of money expected, '5.00 in Debit and 7.00 in Credit' found"),
        (5, "amount: an amount of money expected, 'nothing in Debit and Credit' found"),
    ]


def test_debits_that_bear_their_own_sign_are_not_turned_round(desk: Desk) -> None:
    desk.source(BANK + "2026-03-14,a,-5.00,,1\n2026-03-14,b,(6.00),,1\n2026-03-14,c,,7.00,1\n")
    assert desk.rows("SELECT amount FROM settlements ORDER BY line_no") == [
        (Decimal(-5),),
        (Decimal(-6),),
        (Decimal(7),),
    ]


def test_a_negative_debit_among_others_is_money_that_came_back(desk: Desk) -> None:
    desk.source(BANK + "2026-03-14,a,-5.00,,1\n2026-03-14,b,6.00,,1\n")
    assert desk.rows("SELECT amount FROM settlements ORDER BY line_no") == [(Decimal(5),), (Decimal(-6),)]


def test_a_mark_that_says_neither_debit_nor_credit_is_rejected(desk: Desk) -> None:
    desk.source("Date,Label,Amount,D/C,Balance\n2026-03-14,a,5.00,D,1\n2026-03-14,b,6.00,X,1\n")
    assert desk.rejects() == [(3, "amount: an amount of money expected, '6.00 with the mark X' found")]


# What the user says, and what is no such export --------------------------------------------------------------------


def test_what_the_user_says_wins_over_the_layout(desk: Desk) -> None:
    text = table(
        "id|external_identifier|status|created_at|amount|currency|captured_amount|refunded_amount",
        "u1|A-1|buyer_approval_pending|2026-03-14T09:26:53Z|3980|USD|3900|0",
    )
    said = {"mapping": {"amount": "captured_amount"}, "unit": "major", "status": {"buyer_approval_pending": "captured"}}
    desk.source(text, **said)
    assert desk.rows("SELECT amount, status FROM payments") == [(Decimal(3900), "captured")]


def test_a_ledger_with_orders_of_its_own_is_no_bank_statement(desk: Desk) -> None:
    text = "order_id,date,description,amount,balance,status\nA,2026-03-14,x,5.00,1,paid\nB,2026-03-14,y,6.00,1,paid\n"
    assert desk.source(text).kind == "payments"


def test_headings_of_a_layout_are_found_under_lines_that_look_like_headings(desk: Desk) -> None:
    text = "Bank code : 10,Agency : 7,From : a,To : b,\nDate,Label,Debit,Credit,Detail\n2026-03-14,x,,5.00,y\n"
    assert desk.source(text).rows_loaded == 1
    assert desk.rows("SELECT line_no, amount FROM settlements") == [(3, Decimal(5))]


def test_a_gross_that_is_blank_gives_way_to_the_net(desk: Desk) -> None:
    text = table(
        "Merchant Reference|Creation Date|Type|Gross Currency|Gross Debit (GC)|Gross Credit (GC)|Net Currency|"
        "Net Debit (NC)|Net Credit (NC)|Commission (NC)|Markup (NC)|Scheme Fees (NC)|Batch Number|Psp Reference",
        "A-1|2026-03-14 09:26:53|Settled|USD||10.00|USD||9.40|0.30|0.20|0.10|7|P1",
        "|2026-03-14 09:26:53|MerchantPayout||||EUR|9.40|||||7|",
    )
    desk.source(text)
    assert desk.rows("SELECT amount, fee, net, currency, movement FROM settlements ORDER BY line_no") == [
        (Decimal(10), Decimal("0.6"), Decimal("9.4"), "USD", "payment"),
        (Decimal("-9.4"), Decimal(0), Decimal("-9.4"), "EUR", "payout"),
    ]


def test_zones_are_read_from_the_column_that_names_them(desk: Desk) -> None:
    source = desk.source("order_id,amount,created_at,TimeZone\nA,1.00,2026-03-14 10:26:53,CET\n")
    assert (source.zone, source.zone_reason) == ("Europe/Berlin", "a column names it")


def test_rows_that_name_several_zones_are_left_to_the_user(desk: Desk) -> None:
    source = desk.source(
        "order_id,amount,created_at,TimeZone\nA,1.00,2026-03-14 10:26:53,CET\nB,1.00,2026-03-14 10:26:53,PST\n"
    )
    assert "column 'TimeZone' (CET, PST) is not read; say the zone with --zone" in source.notes
