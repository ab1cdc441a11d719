"""Texts of the page with all cards: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Every card for this job", "此任务的所有显卡"),
    "intro": (
        "{fits} of {all} offers take the batch in one go, {trains} train it at all. "
        "The cheapest is {best}.",
        "{all} 个方案中有 {fits} 个能一次放下该批，{trains} 个能够训练。最便宜的是 {best}。",
    ),
    "intro_unpriced": (
        "{fits} of {all} offers take the batch in one go, {trains} train it at all.",
        "{all} 个方案中有 {fits} 个能一次放下该批，{trains} 个能够训练。",
    ),
    "ask_card": (
        "Is a card missing? [Ask for it]({link}).",
        "缺少某块显卡？[提出请求]({link})。",
    ),
    "card": ("Offer", "方案"),
    "state": ("Fits", "能否放下"),
    "used": ("Memory used", "显存占用"),
    "used_help": (
        "What the batch needs in one go over usable memory; more than 100 % does not fit.",
        "一次放下该批所需显存占可用显存的比例，超过 100 % 即一次放不下。",
    ),
    "needs": ("Needs, GiB", "需要 GiB"),
    "usable": ("Usable, GiB", "可用 GiB"),
    "max_batch": ("Largest batch", "最大批大小"),
    "speed": ("Clips/s", "片段/秒"),
    "hours": ("Hours", "小时"),
    "cost": ("Cost, {currency}", "成本 {currency}"),
    "price": ("Price, USD/h", "价格（美元/小时）"),
    "price_buy": ("Price, USD", "价格（美元）"),
    "date": ("Price of", "价格日期"),
    "basis": ("Speed basis", "速度依据"),
    "alt": (
        "Table of {all} offers, sorted by cost: {first}.",
        "{all} 个方案的表格，按成本排序：{first}。",
    ),
    "download": ("Table (CSV)", "表格（CSV）"),
    "none_left": ("No card matches these filters.", "没有符合条件的显卡。"),
    "unknown": (
        "“–”: no public price, not measured, or the card does not train it.",
        "“–”：没有公开价格、未测量，或该卡训练不了。",
    ),
    "caption_buy": (
        "Click a column to sort. Prices are the newest published ones to buy at unless you entered "
        "your own in the sidebar.",
        "点击列名排序。除侧栏自填的价格外，均为最新的公开购买价。",
    ),
    "caption": (
        "Click a column to sort. Prices are medians over providers unless you entered your own in the "
        "sidebar.",
        "点击列名排序。除侧栏自填的价格外，均为各提供商的中位价。",
    ),
}
