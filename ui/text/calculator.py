"""Texts of the calculator: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # one card
    "cost": ("Cost of the run", "训练总成本"),
    "hours": ("Time", "用时"),
    "peak": ("Peak memory", "显存峰值"),
    "needs": ("Memory needed", "所需显存"),
    "needs_value": (
        "{needs}, {sure} to be sure; usable: {usable}",
        "{needs}，稳妥需 {sure}；可用 {usable}",
    ),
    "needs_short": ("needs {needs}, {usable} usable", "需要 {needs}，可用 {usable}"),
    "peak_help": (
        "Peak of live tensors on one GPU (torch.cuda.max_memory_allocated), with the range that "
        "should hold nine times in ten. nvidia-smi shows more: about {reserved} and the CUDA "
        "context. Memory needed decides what fits: the least with which PyTorch's allocator gets by, "
        "since it cannot use every gap. To be sure: at the upper end of the range, without retries, "
        "and with the headroom that a real card lacked.",
        "单卡张量占用峰值（torch.cuda.max_memory_allocated），括号内为约九成把握的范围。nvidia-smi 显示得更多："
        "约 {reserved} 再加 CUDA 上下文。放不放得下看“所需显存”：PyTorch 分配器用不尽所有空隙，这是它能运行的最小值；"
        "“稳妥”取范围上限、不触发重试，并留出真实显卡上缺少的余量。",
    ),
    "max_batch": ("Largest batch per GPU", "单卡最大批大小"),
    "trains": ("Trains as", "训练方式"),
    "trains_once": ("{micro} at once", "一次 {micro}"),
    "trains_parts": ("{times} x {micro}, accumulated", "{times} x {micro}，梯度累积"),
    "speed": ("Speed", "速度"),
    "clips_per_s": ("{n} clips/s", "{n} 片段/秒"),
    "price": ("Price", "价格"),
    "price_hour": ("{usd}/h per GPU", "{usd}/小时·卡"),
    "price_buy": ("{usd} per GPU", "{usd}/卡"),
    "price_typed": ("yours", "自填"),
    "price_dated": ("median, {date}", "中位数，{date}"),
    "price_bought": ("published {date}", "公开价 {date}"),
    "price_none": ("none known: enter one in the sidebar", "未知：请在侧栏填写"),
    "energy": ("Energy", "能耗"),
    "kwh": ("{n} kWh", "{n} 千瓦时"),
    "basis": ("Basis", "依据"),
    "basis_value": ("memory {memory}, speed {speed}", "显存：{memory}；速度：{speed}"),
    "basis_help": (
        "measured: this very point on this very card. corrected: the formula, scaled by runs near "
        "it or on another card. formula: nothing measured near it.",
        "实测：正是此设置、此显卡。经实测修正：公式按相近设置、或其他显卡上的实测校正。公式：附近没有实测。",
    ),
    "range": ("{low} to {high}", "{low} 至 {high}"),
    "phase_forward": ("peak in the forward pass", "峰值在前向"),
    "phase_backward": ("peak in the backward pass", "峰值在反向"),
    "phase_optimizer": ("peak in the optimizer step", "峰值在优化器更新"),
    # parts
    "part_weights": ("Weights", "权重"),
    "part_gradients": ("Gradients", "梯度"),
    "part_optimizer": ("Optimizer state", "优化器状态"),
    "part_activations": ("Activations", "激活"),
    "part_temporaries": ("Temporaries", "临时张量"),
    "part_ddp_buckets": ("DDP buckets", "DDP 缓冲桶"),
    "part_ema": ("EMA", "EMA"),
    "part_extra": ("Your extras", "自填占用"),
    "part_calibration": ("Workspaces", "工作区"),
    # charts
    "memory_title": ("Where the memory goes", "显存用在哪里"),
    "memory_caption": (
        "Parts of the peak on one GPU. The dashed line goes on to what the allocator needs, the "
        "vertical one is what the card has to give.",
        "单卡峰值的组成。虚线延伸到分配器所需的显存，竖线为该卡可用显存。",
    ),
    "memory_alt": (
        "Stacked bars: {summary}.",
        "堆叠条形图：{summary}。",
    ),
    "memory_alt_one": (
        "{offer} needs {needs} of {usable} for a peak of {peak}, mostly {part}",
        "{offer} 需要 {needs}（可用 {usable}），峰值 {peak}，以{part}为主",
    ),
    "usable": ("{gib} usable", "可用 {gib}"),
    "gib_axis": ("GiB", "GiB"),
    "timeline_title": ("One training step", "一步训练"),
    "timeline_caption": (
        "Memory of one GPU of {offer} through a micro-batch of {micro}. It climbs while activations "
        "are kept for the backward pass.",
        "{offer} 单卡训练微批 {micro} 一步的显存变化。前向时激活逐层保存，因此攀升。",
    ),
    "timeline_alt": (
        "Memory through one step: up to {peak}, {phase}.",
        "一步之内的显存：最高 {peak}，{phase}。",
    ),
    "timeline_none": (
        "No timeline was traced for this setting.",
        "此设置没有追踪时间线。",
    ),
    "progress_axis": ("progress of the step", "一步的进程"),
    "forward": ("forward", "前向"),
    "backward": ("backward", "反向"),
    "optimizer": ("optimizer", "优化器"),
    "map_title": ("Where the answer tips", "最优选择的分界"),
    "map_caption": (
        "The cheapest of your cards that takes the batch in one go (the fastest, where none of them "
        "has a price), without a micro-batch of your own; “–”: none does. Your job is framed.",
        "能一次放下该批的显卡中最便宜者（都没有价格时取最快者），不计自填的微批；“–” 表示都放不下。方框为你的设置。",
    ),
    "map_alt": (
        "Map of batch against {row}: at your point, {here}. {offers}.",
        "批大小与{row}的分布图：在你的设置下，{here}。{offers}。",
    ),
    "map_alt_cells": ("{offer} in {cells} of {all} cells", "{offer} 占 {cells}/{all} 格"),
    "map_here": ("{offer} is the cheapest that fits", "{offer} 放得下且最便宜"),
    "map_here_unpriced": ("{offer} fits; no price is known", "{offer} 放得下；价格未知"),
    "map_nowhere": ("no chosen card fits in one go", "所选显卡都无法一次放下"),
    "map_frames": ("frames per clip", "每段帧数"),
    "map_size": ("frame size, px", "画面边长（像素）"),
    "map_batch": ("batch, clips per step", "批大小（每步片段数）"),
    "map_none": ("none fits", "都放不下"),
    "map_empty": (
        "Nothing was traced around this setting.",
        "此设置附近没有追踪数据。",
    ),
    "costs_title": ("Cost against time", "成本与用时"),
    "costs_caption": (
        "Down and to the left is better. The lines are the ranges.",
        "越靠左下越好。线段为范围。",
    ),
    "costs_alt": ("Cost against time: {summary}.", "成本与用时：{summary}。"),
    "costs_alt_one": ("{offer}: {cost} in {hours}", "{offer}：{hours}，{cost}"),
    "costs_none": (
        "No offer has both a time and a price yet.",
        "尚无同时有用时和价格的方案。",
    ),
    "hours_axis": ("hours", "小时"),
    "cost_axis": ("cost of the run, {currency}", "训练总成本（{currency}）"),
    "sweep_title": ("Speed against batch", "速度与批大小"),
    "sweep_caption": (
        "Beyond the largest batch the rest is accumulated, which gains little.",
        "超过最大批大小后改用梯度累积，速度几乎不再提升。",
    ),
    "sweep_alt": (
        "Clips per second against the batch: {summary}.",
        "每秒片段数随批大小变化：{summary}。",
    ),
    "sweep_alt_one": (
        "{offer} {first} at {low}, {last} at {high}",
        "{offer} 批 {low} 时 {first}，批 {high} 时 {last}",
    ),
    "sweep_none": ("No speed is known for these cards.", "这些显卡的速度未知。"),
    "clips_axis": ("clips per second", "片段/秒"),
    # below
    "advice_title": ("What would make it fit", "怎样才放得下"),
    "advice_caption": (
        "Times are against the job in one go on that card, as if memory were no limit.",
        "时间以该卡一次放下整个批次为基准（假设显存不受限）。",
    ),
    "advice_apply": ("open with this change", "按此修改打开"),
    "rules_title": ("The three rules", "三条规则"),
    "notes_title": ("Notes", "说明"),
    "share_title": ("Share", "分享"),
    "export_title": (
        "Export: files, command lines, a summary",
        "导出：文件、命令行、摘要",
    ),
    "share_caption": (
        "Link to this very job: every input, and the versions of model and data.",
        "此任务的链接：包含全部输入以及模型与数据版本。",
    ),
    "commands": ("The same on the command line:", "在命令行得到同样的结果："),
    "bench_command": (
        "The run that would measure it on {offer}:",
        "在 {offer} 上实测此设置的命令：",
    ),
    "download_csv": ("Table (CSV)", "表格（CSV）"),
    "download_yaml": ("Job (YAML)", "任务（YAML）"),
    "download_markdown": ("Summary (Markdown)", "摘要（Markdown）"),
    "markdown_preview": ("Summary to paste into an issue:", "可粘贴到 issue 的摘要："),
    "charts_note": (
        "The buttons at the upper right corner of a chart save it as PNG or copy it as Vega-Lite, which "
        "[Vega's editor](https://vega.github.io/editor) turns into SVG.",
        "图右上角的按钮可将其存为 PNG，或复制 Vega-Lite 代码，在 [Vega 编辑器](https://vega.github.io/editor) 中导出 SVG。",
    ),
    "wrong_figure": (
        "Did your card do something else? [Tell us]({link}): the form opens with this job filled in.",
        "你的显卡表现与此不同？[告诉我们]({link})：表单会自动填好此任务。",
    ),
    "ask_model": (
        "Need this setting? [Ask for it]({link}).",
        "需要这个设置？[提出请求]({link})。",
    ),
    "presets_title": ("Start from a published recipe", "从公开配方开始"),
    "preset_of": (
        "(published with {gpus} GPUs: [source]({source}))",
        "（原配方用 {gpus} 块 GPU：[来源]({source})）",
    ),
    "preset_note": (
        "The batch is the recipe's batch of one GPU. Links open in a new tab, with your cards and prices.",
        "批大小取原配方单卡的值。链接在新标签页打开，并带上你的显卡与价格。",
    ),
    "custom_shapes": (
        "Your own transformer: {params} parameters. Its memory and work are a closed form of its "
        "sizes, not a trace.",
        "自定义 Transformer：{params} 个参数。显存与计算量由各尺寸按公式得出，未经追踪。",
    ),
    "traced_shapes": (
        "{title}: {params} parameters, traced at {frames} frames and {sizes} px.",
        "{title}：{params} 个参数，已追踪 {frames} 帧与 {sizes} 像素。",
    ),
}
