"""Labels and help of the inputs, under the input's key; made into widgets by `ui/inputs.py`."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # main
    "model": ("Model", "模型"),
    "model_help": (
        "Traced from the real library model. “custom” opens the size sliders in the sidebar.",
        "由真实的库模型追踪得到。选 “custom” 可在侧栏自定义尺寸。",
    ),
    "frames": ("Frames per clip", "每段帧数"),
    "frames_help": ("Frames that reach the model in one clip.", "一段视频输入模型的帧数。"),
    "size": ("Frame size, px", "画面边长（像素）"),
    "size_help": ("Edge length of the square crop.", "正方形裁剪的边长。"),
    "batch": ("Batch, clips per step", "批大小（每步片段数）"),
    "batch_help": (
        "Clips of one optimizer step over all GPUs. What does not fit in one go is trained with "
        "gradient accumulation.",
        "所有 GPU 合计、一次优化器更新所用的片段数。一次放不下时用梯度累积训练。",
    ),
    "precision": ("Precision", "精度"),
    "precision_help": (
        "fp16 and bf16 are mixed precision (AMP); bf16-pure keeps weights and optimizer in bf16.",
        "fp16 与 bf16 为混合精度（AMP）；bf16-pure 的权重与优化器状态也用 bf16。",
    ),
    "checkpointing": ("Checkpointing", "激活检查点"),
    "checkpointing_help": (
        "block: each block is recomputed in backward, much less memory, about a third more time. "
        "wrapper: the whole model as one segment, which saves nothing (see the guide).",
        "block：反向时逐块重算，显存大减，时间约多三分之一。wrapper：整个模型作一段，省不了显存（见指南）。",
    ),
    "cards": ("Cards to compare", "要比较的显卡"),
    "cards_help": (
        "Type a name. “2x RTX 4090 24GB” is two of them in one machine.",
        "输入名称即可查找。“2x RTX 4090 24GB” 表示一台机器里的两块。",
    ),
    # memory
    "group_memory": ("Training step", "训练步骤"),
    "attention": ("Attention", "注意力"),
    "attention_help": (
        "sdpa never stores the score matrix, eager does. Some libraries leave no choice.",
        "sdpa 不保存注意力分数矩阵，eager 会保存。有些库没有选择余地。",
    ),
    "optimizer": ("Optimizer", "优化器"),
    "optimizer_help": (
        "adamw is PyTorch's default (foreach); sgd has momentum 0.9, sgd-plain none.",
        "adamw 为 PyTorch 默认（foreach）；sgd 带 0.9 动量，sgd-plain 不带。",
    ),
    "trainable": ("What is trained", "训练哪些参数"),
    "trainable_help": (
        "full: everything. head: frozen backbone, linear probe.",
        "full：全部参数。head：冻结主干，只训练线性头。",
    ),
    "sharding": ("Several GPUs", "多卡方式"),
    "sharding_help": (
        "ddp: everything on every GPU. zero2: gradients and optimizer shared out. "
        "fsdp: weights too. Only counts for offers of two cards or more.",
        "ddp：每卡一份完整副本。zero2：分摊梯度与优化器状态。fsdp：连权重也分摊。仅对两块及以上的方案有效。",
    ),
    "micro_batch": ("Micro-batch per GPU", "每卡微批大小"),
    "micro_batch_help": (
        "Left empty, ClipFit takes the largest that fits.",
        "留空则取放得下的最大值。",
    ),
    "ema": ("EMA copy of the weights", "权重的 EMA 副本"),
    "ema_help": (
        "A moving average of the weights, kept on the GPU in fp32.",
        "在 GPU 上以 fp32 保存权重的滑动平均。",
    ),
    "bucket_view": ("gradient_as_bucket_view", "gradient_as_bucket_view"),
    "bucket_view_help": (
        "DDP without its second copy of the gradients.",
        "让 DDP 不再保存第二份梯度。",
    ),
    "clip_grad": ("Gradient clipping", "梯度裁剪"),
    "clip_grad_help": ("clip_grad_norm_ before each step.", "每步之前执行 clip_grad_norm_。"),
    "channels_last": ("channels_last", "channels_last"),
    "channels_last_help": (
        "Memory format of convolutional models.",
        "卷积模型的内存排布。",
    ),
    "expandable_segments": ("expandable_segments", "expandable_segments"),
    "expandable_segments_help": (
        "PYTORCH_ALLOC_CONF=expandable_segments:True (older PyTorch: PYTORCH_CUDA_ALLOC_CONF): less "
        "fragmentation.",
        "PYTORCH_ALLOC_CONF=expandable_segments:True（旧版 PyTorch 用 PYTORCH_CUDA_ALLOC_CONF）：碎片更少。",
    ),
    "os": ("Operating system", "操作系统"),
    "os_help": (
        "On Windows the desktop takes memory and the driver spills into system memory instead of "
        "failing: the job then runs many times slower.",
        "Windows 桌面占用显存；显存不足时驱动会悄悄改用系统内存，训练慢很多倍而不报错。",
    ),
    "other_gib": ("Used by other programs, GiB", "其他程序占用（GiB）"),
    "other_gib_help": (
        "What nvidia-smi shows before your job starts.",
        "任务开始前 nvidia-smi 显示的占用。",
    ),
    "extra_gib": ("Your own extras on the GPU, GiB", "其他自填占用（GiB）"),
    "extra_gib_help": (
        "Validation during training, a frozen VAE or text encoder: no trace sees them.",
        "训练中的验证、冻结的 VAE 或文本编码器：追踪看不到这些。",
    ),
    # training
    "group_training": ("Data set", "数据集"),
    "clips": ("Clips per epoch", "每轮片段数"),
    "clips_help": ("Kinetics-400 has about 240,000.", "Kinetics-400 约 240,000 段。"),
    "epochs": ("Epochs", "轮数"),
    "epochs_help": ("Passes over the data set.", "遍历数据集的次数。"),
    "loader_clips_per_s": ("Data loader delivers, clips/s", "数据加载速度（片段/秒）"),
    "loader_clips_per_s_help": (
        "Decoding is often the limit, not the card. Left empty: no limit.",
        "瓶颈常在解码而不在显卡。留空表示不限。",
    ),
    # money
    "group_money": ("Prices", "价格"),
    "price_kind": ("Pay", "付费方式"),
    "price_kind_help": (
        "on_demand and spot are rented by the hour; buy spreads the price over its years.",
        "on_demand 与 spot 按小时租用；buy 将购价摊到使用年限。",
    ),
    "prices": ("{card}: USD/h per GPU", "{card}：美元/小时·卡"),
    "prices_help": (
        "Left empty: the median of dated public offers, shown in grey.",
        "留空则用带日期的公开报价中位数（灰色所示）。",
    ),
    "buy_prices": ("{card}: purchase price, USD", "{card}：购价（美元）"),
    "buy_prices_help": (
        "Left empty: the dated public price shown in grey; where there is none, please enter one.",
        "留空则用灰色所示的公开价格；没有时请自行填写。",
    ),
    "price_missing": ("no public price", "无公开价格"),
    "interruptions_per_day": ("Spot interruptions per day", "竞价实例每日中断次数"),
    "interruptions_per_day_help": (
        "Each one costs the work since the last checkpoint.",
        "每次中断损失上个检查点之后的进度。",
    ),
    "host_usd": ("Rest of the computer, USD", "主机其余部分（美元）"),
    "host_usd_help": ("Everything but the GPUs.", "显卡以外的全部。"),
    "years": ("Years of use", "使用年限"),
    "years_help": ("After which it is sold.", "之后出售。"),
    "resale_pct": ("Resale value, %", "残值（%）"),
    "resale_pct_help": ("Share of the price that comes back.", "出售时收回的购价比例。"),
    "hours_per_week": ("Hours of training per week", "每周训练小时数"),
    "hours_per_week_help": (
        "The purchase is shared by all hours of its life.",
        "购价由全部使用小时分摊。",
    ),
    "electricity_usd_per_kwh": ("Electricity, USD/kWh", "电价（美元/千瓦时）"),
    "electricity_usd_per_kwh_help": (
        "Counts when you buy; rented cards include it.",
        "自购时计入；租用价已含电费。",
    ),
    "power_pct": ("Power drawn, % of TDP", "功耗（TDP 的百分比）"),
    "power_pct_help": (
        "Average of a training run; nvidia-smi shows it.",
        "训练期间平均值，可由 nvidia-smi 查看。",
    ),
    "currency": ("Currency shown", "显示币种"),
    "currency_help": ("Inputs stay in USD.", "输入仍以美元计。"),
    "cny_per_usd": ("CNY per USD", "人民币兑美元汇率"),
    "cny_per_usd_help": ("Exchange rate for the amounts shown.", "用于换算显示金额。"),
    # custom
    "group_custom": ("Custom model", "自定义模型"),
    "custom_closed": (
        "Choose the model “custom” to use these.",
        "模型选 “custom” 后可用。",
    ),
    "depth": ("Blocks", "层数"),
    "depth_help": ("Transformer blocks.", "Transformer 块数。"),
    "width": ("Width, channels", "宽度（通道）"),
    "width_help": ("Embedding width; a multiple of the heads.", "嵌入维度，须为头数的倍数。"),
    "heads": ("Heads", "注意力头数"),
    "heads_help": ("Attention heads per block.", "每块的注意力头数。"),
    "mlp_ratio": ("MLP ratio", "MLP 倍率"),
    "mlp_ratio_help": ("Hidden width over width.", "隐藏层宽度与宽度之比。"),
    "patch": ("Patch, px", "图块边长（像素）"),
    "patch_help": ("Edge of a square patch.", "正方形图块的边长。"),
    "tubelet": ("Frames per token", "每个 token 的帧数"),
    "tubelet_help": ("Tubelet length in frames.", "tubelet 的帧数。"),
    "pattern": ("Attention over", "注意力范围"),
    "pattern_help": (
        "joint: all tokens. divided: time, then space (TimeSformer). windowed: local windows.",
        "joint：全部 token。divided：先时间后空间（TimeSformer）。windowed：局部窗口。",
    ),
    # what is shown
    "map": ("Map over", "纵轴"),
    "map_help": ("What the rows of the map below are.", "下图各行表示什么。"),
    "count": ("GPUs per offer", "每个方案的卡数"),
    "count_help": ("How many of each card train together.", "每种显卡几块一起训练。"),
    "max_price": ("At most, USD/h per GPU", "每卡每小时最高价（美元）"),
    "max_price_help": (
        "Left empty: all. Cards without a price are left out once you enter one. For rented cards.",
        "留空则全部显示；填写后不显示无价格的显卡。仅用于租用。",
    ),
    "only_trains": ("Only cards that train it", "只看能训练的显卡"),
    "only_trains_help": (
        "In one go or with gradient accumulation.",
        "一次放下或使用梯度累积均可。",
    ),
    # problems
    "no_cards": (
        "No card is chosen; choose at least one under “Cards to compare”.",
        "没有选择显卡；请在“要比较的显卡”中至少选一块。",
    ),
    "bad_job": ("These inputs do not go together: {problem}", "输入不成立：{problem}"),
    "nearest": ("Open the nearest that was traced: {links}", "打开相近且已追踪的设置：{links}"),
    "link_problems": (
        "Not everything in this link could be used:",
        "链接中的以下内容无法使用：",
    ),
    "link_unchosen": (
        "The price of {card} ({key}) counts once the card is chosen.",
        "{card} 的价格（{key}）在选择该显卡后生效。",
    ),
    "link_bad": (
        "{label} ({key}): {given} is not possible, {used} is used instead; allowed: {allowed}.",
        "{label}（{key}）：{given} 不可用，改用 {used}；可选：{allowed}。",
    ),
    "link_unknown": (
        "{key} is not an input of this page and was left out.",
        "{key} 不是本页的输入，已忽略。",
    ),
    "link_version": (
        "This link was made with model version {model} and data version {data}; this page has "
        "{model_now} and {data_now}. Results may differ from what its sender saw.",
        "此链接生成于模型版本 {model}、数据版本 {data}；本页为 {model_now}、{data_now}。结果可能与分享者所见不同。",
    ),
    "range": ("{low} to {high}", "{low} 至 {high}"),
    "flags": ("true, false", "true、false"),
    "offers": (
        "up to {most}, each once, also as 2x to 8x: {names}",
        "最多 {most} 个，不可重复，可写成 2x 到 8x：{names}",
    ),
    "empty": ("nothing", "空"),
}
