"""Every sentence that calc computes, in English and Chinese side by side.

calc hands out a `Message`: the key of a template and its figures. `render` makes the sentence, in
the language of the page or of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calc.problem_words import PROBLEMS

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence not yet in a language. params: figures, names, other messages, or tuples of them.

    >>> render(Message("unit_hours", {"n": 38.2}))
    '38.2 h'
    >>> render(Message("unit_hours", {"n": 38.2}), "zh")
    '38.2 小时'
    """

    key: str
    params: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self)


class Refused(ValueError):
    """An input that is not possible; `message` says what is wrong with it, in either language."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """What is wrong."""
        found: Message = self.args[0]
        return found


def render(message: Message, lang: str = "en") -> str:
    """The sentence of a message in "en" or "zh"."""
    template = TEMPLATES[message.key][LANGUAGES.index(lang)]
    return template.format(**{key: _word(value, lang) for key, value in message.params.items()})


def _word(value: object, lang: str) -> object:
    """A parameter as the template wants it: messages as text, tuples as a list of words."""
    if isinstance(value, Message):
        return render(value, lang)
    if isinstance(value, tuple):
        separator = ", " if lang == "en" else "、"
        return separator.join(str(_word(item, lang)) for item in value)
    return value


def hours(value_h: float, beside_h: float | None = None) -> Message:
    """A duration as people say it: minutes below two hours, days from four days on.

    beside_h: the duration whose unit to take, for two that are to be compared.

    >>> [render(hours(n)) for n in (0.5, 38.24, 240)]
    ['30 min', '38.2 h', '10.0 days']
    >>> render(hours(80.5, 100.8)), render(hours(100.8, 80.5))
    ('3.4 days', '100.8 h')
    """
    unit_h = value_h if beside_h is None else beside_h
    if unit_h < 2:
        return Message("unit_minutes", {"n": value_h * 60})
    if unit_h < 96:
        return Message("unit_hours", {"n": value_h})
    return Message("unit_days", {"n": value_h / 24})


def clips(number: int | None) -> Message:
    """
    >>> [render(clips(number)) for number in (1, 8)]
    ['1 clip', '8 clips']
    """
    return Message("unit_clip" if number == 1 else "unit_clips", {"n": number})


def inputs(values: Mapping[str, object]) -> Message:
    """Inputs with their values.

    >>> render(inputs({"size": 160, "precision": "fp16"}))
    'size 160 + precision fp16'
    """
    named = [Message("input", {"name": Message("input_" + key), "value": value})
             for key, value in values.items()]  # fmt: skip
    first, *more = named
    for each in more:
        first = Message("input_and", {"first": first, "second": each})
    return first


def money(usd: float, currency: str = "USD", cny_per_usd: float = 7.1) -> str:
    """An amount with its sign, in the job's currency; the same in both languages.

    >>> money(1234.4), money(0.349), money(10, "CNY", 7.0)
    ('$1,234', '$0.35', '¥70')
    """
    amount, sign = (usd * cny_per_usd, "¥") if currency == "CNY" else (usd, "$")
    return f"{sign}{amount:,.{0 if amount >= 10 else 2}f}"


TEMPLATES: Mapping[str, tuple[str, str]] = {
    **PROBLEMS,
    # Units
    "unit_minutes": ("{n:,.0f} min", "{n:,.0f} 分钟"),
    "unit_hours": ("{n:,.1f} h", "{n:,.1f} 小时"),
    "unit_days": ("{n:,.1f} days", "{n:,.1f} 天"),
    "unit_clip": ("{n} clip", "{n} 个片段"),
    "unit_clips": ("{n} clips", "{n} 个片段"),
    # What is not possible
    "card_unknown": (
        "card is {given!r}; allowed are {allowed}", "显卡为 {given!r}；可选的有 {allowed}"
    ),
    "custom_wrapper": (
        "checkpointing is 'wrapper'; allowed are none, block for a custom model",
        "checkpointing 为 'wrapper'；自定义模型只能选 none 或 block",
    ),
    "must_divide": (
        "{name} is {whole} and {by} {part}; {name} must be a multiple of {by}, as {next}",
        "{name}为 {whole}，{by}为 {part}；{name}必须是{by}的整数倍，例如 {next}",
    ),
    # What was not traced
    "not_traced_shape": (
        "{model} was not traced at {frames} frames of {size} px; "
        "choose frames x size from {shapes}",
        "没有 {model} 在 {frames} 帧、{size} 像素下的追踪数据；可选的帧数 x 边长有 {shapes}",
    ),
    "not_traced_way": (
        "{model} at {frames} frames of {size} px was not traced with {way}; "
        "nearest to it were traced: {ways}",
        "{model} 在 {frames} 帧、{size} 像素下没有 {way} 的追踪数据；相近且已追踪的有：{ways}",
    ),
    # Inputs by name
    "input": ("{name} {value}", "{name} {value}"),
    "input_and": ("{first} + {second}", "{first} + {second}"),
    "input_frames": ("frames", "帧数"),
    "input_size": ("size", "边长"),
    "input_precision": ("precision", "精度"),
    "input_checkpointing": ("checkpointing", "激活检查点"),
    "input_attention": ("attention", "注意力"),
    "input_trainable": ("trainable", "训练范围"),
    "input_patch": ("patch", "图块边长"),
    "input_tubelet": ("tubelet", "每 token 帧数"),
    "input_width": ("width", "宽度"),
    "input_heads": ("heads", "头数"),
    # Verdict
    "verdict": ("{fit}; {money}.", "{fit}；{money}。"),
    "verdict_but": ("{fit}; {money}; {rule}.", "{fit}；{money}；{rule}。"),
    "verdict_none_one": (
        "{offer} cannot train this job: {tried} needs {need:.1f} GiB, "
        "and {usable:.1f} GiB are usable.",
        "{offer} 训练不了这个任务：{tried}要 {need:.1f} GiB，"
        "而可用显存只有 {usable:.1f} GiB。",
    ),
    "verdict_none": (
        "None of these cards trains this job: the largest, {offer}, has {usable:.1f} GiB "
        "usable, and {tried} needs {need:.1f} GiB.",
        "所选的卡都训练不了这个任务：即使显存最大的 {offer} 也只有 {usable:.1f} GiB 可用，"
        "而{tried}要 {need:.1f} GiB。",
    ),
    "tried_one": ("even one clip at a time", "哪怕一次只放一个片段也"),
    "tried_pinned": ("the micro-batch of {clips} that you set", "你设定的微批 {clips} "),
    "fit_one": ("{name} trains it in one go", "{name} 一次放得下整个批次"),
    "fit_one_hard": ("It trains on {hard}", "可以训练：{hard}"),
    "fit_both": ("Both fit", "两者都放得下"),
    "fit_both_hard": ("Both train it, {hard}", "两者都能训练，其中 {hard}"),
    "fit_all": ("All {n} fit", "{n} 个方案都放得下"),
    "fit_all_hard": ("All {n} train it, {hard}", "{n} 个方案都能训练，其中 {hard}"),
    "fit_only": ("Only {names} trains it ({failing})", "只有 {names} 能训练（{failing}）"),
    "fit_some": ("Only {names} train it ({failing})", "只有 {names} 能训练（{failing}）"),
    "fit_some_hard": (
        "Only {names} train it, {hard} ({failing})",
        "只有 {names} 能训练，其中 {hard}（{failing}）",
    ),
    "fit_only_hard": (
        "It trains only on {hard} ({failing})", "能训练的只有一个：{hard}（{failing}）",
    ),
    "how_parts": (
        "{name} in {times} x {micro}", "{name} 要分 {times} 次（每次 {micro}）",
    ),
    "how_tight": ("{name} only just", "{name} 只是勉强放下"),
    "fails": (
        "{name} has {usable:.1f} GiB usable, {tried} needs {need:.1f}",
        "{name} 可用 {usable:.1f} GiB，{tried}要 {need:.1f} GiB",
    ),
    "money_sooner": (
        "{best} costs less, {usd} against {other_usd} on {other} ({less:.0%} less), "
        "and is also faster ({hours} against {other_hours})",
        "{best} 更便宜：{usd}，而 {other} 要 {other_usd}（省 {less:.0%}），"
        "而且也更快（{hours} 对 {other_hours}）",
    ),
    "money_same": (
        "{best} costs less, {usd} against {other_usd} on {other} ({less:.0%} less), "
        "in the same time ({hours})",
        "{best} 更便宜：{usd}，而 {other} 要 {other_usd}（省 {less:.0%}），用时相同（{hours}）",
    ),
    "money_later": (
        "{best} costs less, {usd} against {other_usd} on {other} ({less:.0%} less), "
        "but takes {hours} instead of {other_hours}",
        "{best} 更便宜：{usd}，而 {other} 要 {other_usd}（省 {less:.0%}），"
        "但要 {hours}，而不是 {other_hours}",
    ),
    "money_likely_sooner": (
        "{best} probably costs less, about {usd} against {other_usd} on {other}, "
        "and is also faster ({hours} against {other_hours})",
        "{best} 很可能更便宜：约 {usd}，{other} 约 {other_usd}，"
        "而且也更快（{hours} 对 {other_hours}）",
    ),
    "money_likely_same": (
        "{best} probably costs less, about {usd} against {other_usd} on {other}, "
        "in the same time ({hours})",
        "{best} 很可能更便宜：约 {usd}，{other} 约 {other_usd}，用时相同（{hours}）",
    ),
    "money_likely_later": (
        "{best} probably costs less, about {usd} against {other_usd} on {other}, "
        "but takes {hours} instead of {other_hours}",
        "{best} 很可能更便宜：约 {usd}，{other} 约 {other_usd}，但要 {hours}，而不是 {other_hours}",
    ),
    "money_alone": ("it takes {hours} and costs {usd}", "需要 {hours}，花费 {usd}"),
    "money_alone_unpriced": (
        "it takes {hours}; its price is not known", "需要 {hours}；价格未知",
    ),
    "money_no_speed": (
        "how fast {names} is was not measured, so the costs cannot be compared",
        "{names} 的速度没有数据，因此无法比较成本",
    ),
    "money_break_even": (
        "{first} is cheaper if its hourly price is below {ratio:.2f} x that of {second}",
        "{first} 的每小时价格低于 {second} 的 {ratio:.2f} 倍时更便宜",
    ),
    "money_break_even_usd": (
        "{first} is cheaper below {usd} per GPU-hour, {ratio:.2f} x the price of {second}",
        "{first} 低于每卡每小时 {usd}（{second} 的 {ratio:.2f} 倍）时更便宜",
    ),
    "money_break_even_buy": (
        "{first} is cheaper if it can be bought for less than {usd} each",
        "{first} 每张的购买价低于 {usd} 时更便宜",
    ),
    "money_never_cheaper": (
        "{first} would not be cheaper than {second} even as a gift, for its electricity and host",
        "{first} 即使白送，算上电费和主机也不会比 {second} 便宜",
    ),
    "rule_elsewhere": (
        "rule {number} of the article would take {name}",
        "按文章的第 {number} 条规则应选 {name}",
    ),
    # The article's rules
    "rule_batch": (
        "{small} takes {mine} at once and {large} {other}",
        "{small} 一次放 {mine}，{large} 一次放 {other} 个",
    ),
    "rule_batch_unknown": ("{large} does not train this job", "{large} 训练不了这个任务"),
    "rule_time": (
        "{small} takes {hours}, {large} saves {saved:.0%} of it",
        "{small} 需要 {hours}，{large} 能省 {saved:.0%} 的时间",
    ),
    "rule_time_slower": (
        "{small} takes {hours}, {large} is no faster", "{small} 需要 {hours}，{large} 并不更快",
    ),
    "rule_time_unknown": (
        "the hours on {small} or {large} are not known", "{small} 或 {large} 的训练时间未知",
    ),
    "rule_nvlink": (
        "the cards of {small} wait for each other {waits:.0%} of a step",
        "{small} 的卡每一步有 {waits:.0%} 的时间在互相等待",
    ),
    "rule_nvlink_single": (
        "{small} is one card, which exchanges nothing", "{small} 只有一张卡，不需要卡间通信",
    ),
    "rule_nvlink_unknown": (
        "how long the cards of {small} wait for each other is not known",
        "{small} 的卡间等待时间未知",
    ),
    "rule_money": (
        "{small} {small_usd}, {large} {large_usd}: at {ratio:.2f} x the hourly price {large} must "
        "finish in {must:.0%} of the time to cost less, and takes {share:.0%}",
        "{small} 花费 {small_usd}，{large} 花费 {large_usd}："
        "{large} 的每小时价格是 {ratio:.2f} 倍，"
        "要在 {must:.0%} 的时间内完成才更省钱，实际需要 {share:.0%}",
    ),
    "rule_money_plain": (
        "{small} {small_usd}, {large} {large_usd}",
        "{small} 花费 {small_usd}，{large} 花费 {large_usd}",
    ),
    # Advice
    "advice": ("{offer}: {changes}{time}", "{offer}：{changes}{time}"),
    "advice_time_longer": (" ({percent:.0%} more time)", "（多花 {percent:.0%} 的时间）"),
    "advice_time_shorter": (" ({percent:.0%} less time)", "（少花 {percent:.0%} 的时间）"),
    "advice_time_same": (" (same time)", "（时间不变）"),
    "advice_time_unknown": (" (time not known)", "（时间未知）"),
    "change_checkpointing": ("checkpoint each block", "逐块检查点"),
    "change_precision": ("train in {to}", "改用 {to} 训练"),
    "change_attention": ("use {to} attention", "注意力改用 {to}"),
    "change_optimizer": ("take the optimizer {to}", "优化器换成 {to}"),
    "change_micro_batch": (
        "{times} x {micro} with accumulation", "梯度累积 {times} 次（每次 {micro}）",
    ),
    "change_frames": ("{to} frames instead of {was}", "{was} 帧减到 {to} 帧"),
    "change_trainable": ("train the head only", "只训练分类头"),
    "change_cards": ("take {to}", "换成 {to}"),
    "change_sharding": ("shard with {to}", "用 {to} 分片"),
    # Notes
    "note_uneven": (
        "a batch of {batch} cannot be shared out evenly; calculated are {more}",
        "批大小 {batch} 无法均分；按以下数量计算：{more}",
    ),
    "uneven_one": (
        "{clips} clips a step on {name}", "{name} 每步 {clips} 个片段",
    ),
    "note_windows": (
        "Windows: the driver spills into system memory instead of failing, so a job that does not "
        "fit seems to run, at about a tenth of the speed",
        "Windows：显存不够时驱动会占用系统内存而不报错，放不下的任务看起来能跑，速度却只有十分之一左右",
    ),
    "note_wrapper": (
        "the article's wrapper checkpoints the whole model as one segment, which saves nothing; "
        "checkpoint each block instead",
        "文章的包装器把整个模型当作一个检查点段，省不了显存；请改用逐块检查点",
    ),
    "note_mixed_saves": (
        "mixed precision needs {share:.0%} less memory than fp32 for this model at {batch}",
        "这个模型在 {batch}时，混合精度比 fp32 少用 {share:.0%} 的显存",
    ),
    "note_mixed_same": (
        "mixed precision needs as much memory as fp32 for this model at {batch}",
        "这个模型在 {batch}时，混合精度与 fp32 占用的显存相同",
    ),
    "note_mixed_costs": (
        "mixed precision needs {share:.0%} more memory than fp32 for this model at {batch}",
        "这个模型在 {batch}时，混合精度比 fp32 多用 {share:.0%} 的显存",
    ),
    "note_break_even": (
        "{first} is cheaper than {second} as long as one of its GPUs costs less than {ratio:.2f} x "
        "as much an hour ({low:.2f}-{high:.2f})",
        "{first} 的每卡每小时价格不到 {second} 的 {ratio:.2f} 倍（{low:.2f}-{high:.2f}）时，"
        "{first} 更便宜",
    ),
    "note_rent_or_buy": (
        "{name}: buying costs less than renting from {hours:,.0f} h of use on, "
        "{weeks:.0f} weeks at {per_week:g} h",
        "{name}：用到 {hours:,.0f} 小时以上，买比租便宜"
        "（每周 {per_week:g} 小时，约 {weeks:.0f} 周）",
    ),
    "note_validated": (
        "memory: {n} published rows of {group} models; nine in ten lie between "
        "{low:+.0%} and {high:+.0%} of the estimate",
        "显存：依据 {n} 条 {group} 模型的公开数据，"
        "十条里有九条落在估计值的 {low:+.0%} 到 {high:+.0%} 之间",
    ),
    "note_not_validated": (
        "memory of {model} at this precision is not validated: published rows of its kind: {n}, "
        "fewer than 19, so the range is the widest of any group",
        "{model} 在此精度下的显存尚未验证：同类公开数据只有 {n} 条，不足 19 条，"
        "因此采用各组中最宽的范围",
    ),
    "note_on_a_gpu": (
        "not validated on a GPU: {parts}", "尚未在 GPU 上验证：{parts}",
    ),
    "part_autocast": ("autocast", "自动混合精度"),
    "part_checkpointing": ("checkpointing", "激活检查点"),
    "part_cap": ("smallest memory that works", "能跑的最小显存"),
    "note_attention": (
        "{model} has only {used} attention in this library, so {asked} was not used",
        "{model} 在这个库里只有 {used} 注意力，因此没有使用 {asked}",
    ),
    "note_ddp": (
        "DDP on {names}: every GPU holds the whole model, several cards do not add up their memory",
        "{names} 用 DDP：每张卡都放完整的模型，多张卡的显存不会相加",
    ),
    "note_sharding": (
        "{way}: memory per GPU is a formula that was not validated on GPUs",
        "{way}：每张卡的显存由公式得出，尚未在 GPU 上验证",
    ),
    "note_loader": (
        "the data loader delivers {cap:g} clips/s and slows down {names}",
        "数据加载每秒只有 {cap:g} 个片段，拖慢了 {names}",
    ),
    "note_spot": (
        "spot: each interruption is taken to lose {minutes:.0f} min, {longer:.1%} longer in all",
        "竞价实例：每次中断按损失 {minutes:.0f} 分钟计，总时间多 {longer:.1%}",
    ),
    "note_extra": (
        "{gib:g} GiB for validation or online encoders are part of the peak",
        "峰值里包含验证或在线编码器的 {gib:g} GiB",
    ),
    "note_channels_last": (
        "channels-last orders the same bytes otherwise: memory is taken as unchanged, which was "
        "not measured; cuDNN's workspaces may differ",
        "channels-last 只是换一种存放顺序：这里按显存不变计算，没有实测；cuDNN 的工作区可能不同",
    ),
    "note_unofficial": (
        "{names}: rebuilt by third parties, not sold by NVIDIA",
        "{names}：第三方改装，并非 NVIDIA 出售",
    ),
    "note_total": (
        "{names}: nobody we can name published the memory PyTorch shows; derived from the driver's",
        "{names}：没有可引用来源给出 PyTorch 显示的显存，由驱动显示的数值推算",
    ),
    # The table of the command line
    "unknown": ("not measured", "未测量"),
    "no_price": ("no price", "无价格"),
    "not_trained": ("–", "–"),
    "holds_yes": ("holds", "成立"),
    "holds_no": ("does not hold", "不成立"),
    "rule_line": (
        "rule {number} ({name}) {holds}: {text}", "规则 {number}（{name}）{holds}：{text}",
    ),
    "rule_1": ("the batch falls below a third", "批大小不到三分之一"),
    "rule_2": ("over 24 h, and 30 % saved", "超过 24 小时且省时 30%"),
    "rule_3": ("several GPUs need NVLink", "多卡需要 NVLink"),
    "holds_unknown": ("cannot be judged", "无法判断"),
    "rules_money": ("the money: {money}", "成本：{money}"),
    "list_rules": ("The article's rules:", "文章的规则："),
    "list_advice": ("To make it fit:", "让任务放得下的办法："),
    "list_notes": ("Notes:", "说明："),
    "state_fits": ("fits", "放得下"),
    "state_tight": ("tight", "勉强"),
    "state_no": ("no", "放不下"),
    "basis_measured": ("measured", "实测"),
    "basis_corrected": ("corrected", "经实测修正"),
    "basis_formula": ("formula", "公式"),
    "column_offer": ("offer", "方案"),
    "column_fit": ("in one go", "一次放下"),
    "column_peak": ("peak GiB", "峰值 GiB"),
    "column_needs": ("needs (sure)", "需要（稳妥）"),
    "column_usable": ("usable", "可用"),
    "column_max_batch": ("max batch", "最大批大小"),
    "column_runs_as": ("runs as", "训练方式"),
    "column_speed": ("clips/s", "片段/秒"),
    "column_hours": ("hours", "小时"),
    "column_cost": ("cost", "成本"),
    "column_basis": ("basis", "依据"),
}
