"""Texts of the measurements page: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Measurements", "实测数据"),
    "intro": (
        "Everything ClipFit's figures are held against: figures that others have published, and runs "
        "that people have sent in. All of it is plain YAML under CC0.",
        "ClipFit 的数字都与这些数据核对：别人公开发表的数字，以及大家提交的实测。全部是 CC0 许可的 YAML 文件。",
    ),
    # upload
    "upload": ("Check a run of your own", "检查你的实测"),
    "upload_what": (
        "`python -m bench run` writes a YAML file. Drop it here to see what a pull request with it "
        "would be told, and how far it lies from the prediction. The file stays in this server's memory "
        "until you remove it or close the page.",
        "`python -m bench run` 会生成 YAML 文件。拖到这里，就能看到提交后检查会说什么，以及与预测相差多少。文件只留在服务器内存中，移除文件或关闭页面后即清除。",
    ),
    "upload_label": ("A run file (YAML)", "实测文件（YAML）"),
    "upload_good": ("This file passes every check.", "此文件通过全部检查。"),
    "upload_bad": (
        "This file would not pass; what is wrong, one a line:",
        "此文件无法通过检查，问题如下（每行一个）：",
    ),
    "upload_warnings": ("Worth a look, but no obstacle:", "值得留意，但不妨碍提交："),
    "upload_outside": (
        "At least one row lies outside the band of its prediction. That is welcome: the file below is "
        "marked `review: pending`, is shown at once and used once a second run agrees.",
        "至少有一行超出预测范围。这同样欢迎：下面的文件已标记 `review: pending`，会立即展示，待另一份实测吻合后采用。",
    ),
    "pull_request": ("Open a pull request with this file", "用此文件提交 Pull Request"),
    "pull_request_how": (
        "GitHub asks for the file once more: its name must be {name}, its folder is {folder}.",
        "GitHub 会让你再选一次文件：文件名须为 {name}，所在目录为 {folder}。",
    ),
    "download": ("Download it under its right name", "以正确的文件名下载"),
    "upload_table": ("Rows of the uploaded file beside their predictions", "上传文件各行与预测对照"),
    # agreement
    "agreement": ("Predicted against measured", "预测与实测"),
    "agreement_memory": ("Peak memory", "显存峰值"),
    "agreement_time": ("Step time", "每步耗时"),
    "agreement_caption": (
        "On the dashed line both are equal; the bar is the 90 % range of the prediction. Every "
        "prediction was made without the group of models it is graded on.",
        "虚线上两者相等；横杠为预测的 90% 范围。每个预测都排除了被评的那一组模型。",
    ),
    "agreement_alt": (
        "{rows} rows, predicted against measured; the middle row is off by {median:.1%}.",
        "{rows} 行，预测与实测对照；误差中位数 {median:.1%}。",
    ),
    "agreement_runs": (
        "Measured rows against the formula; the table below has the figures.",
        "实测各行与公式预测的对照，数字见下表。",
    ),
    "predicted_mib": ("Predicted, MiB", "预测（MiB）"),
    "measured_mib": ("Published, MiB", "公开值（MiB）"),
    "predicted_gib": ("Predicted, GiB", "预测（GiB）"),
    "measured_gib": ("Measured, GiB", "实测（GiB）"),
    "predicted_s": ("Predicted, s per step", "预测（秒/步）"),
    "measured_s": ("Measured, s per step", "实测（秒/步）"),
    "ratio": ("Measured / predicted", "实测/预测"),
    # tables
    "runs": ("Measured runs", "实测记录"),
    "runs_none": (
        "Nobody has sent in a run yet. With a GPU at hand, `python -m bench run --preset quick` makes the "
        "first one in minutes.",
        "还没有人提交实测。手边有 GPU 的话，`python -m bench run --preset quick` 几分钟就能做出第一份。",
    ),
    "runs_alt": ("{rows} measured points", "{rows} 个实测点"),
    "published": ("Published figures", "公开数字"),
    "published_alt": ("{rows} published figures with their sources", "{rows} 条公开数字及出处"),
    "published_kind": ("Which figures", "哪些数字"),
    "published_memory": ("Peak memory", "显存峰值"),
    "published_speed": ("Speed", "速度"),
    "published_none": ("No published figures in this copy.", "当前副本没有公开数字。"),
    "column_card": ("Card", "显卡"),
    "column_model": ("Model", "模型"),
    "column_precision": ("Precision", "精度"),
    "column_point": ("Point", "测点"),
    "column_status": ("Status", "状态"),
    "column_gib": ("Peak, GiB", "峰值（GiB）"),
    "column_formula_gib": ("Predicted, GiB", "预测（GiB）"),
    "column_ratio_gib": ("Ratio", "比值"),
    "column_s": ("Step, s", "每步（秒）"),
    "column_formula_s": ("Predicted, s", "预测（秒）"),
    "column_ratio_s": ("Time ratio", "耗时比"),
    "column_date": ("Date", "日期"),
    "column_gpus": ("GPUs", "卡数"),
    "column_workload": ("Workload", "任务"),
    "column_mode": ("Mode", "模式"),
    "column_batch": ("Batch", "批大小"),
    "column_throughput": ("Throughput", "吞吐"),
    "column_unit": ("Unit", "单位"),
    "column_who": ("By", "提交者"),
    "column_torch": ("PyTorch", "PyTorch"),
    "column_driver": ("Driver", "驱动"),
    "column_file": ("File", "文件"),
    "column_family": ("Group", "分组"),
    "column_id": ("Row", "编号"),
    "column_group": ("Group", "分组"),
    "column_arch": ("Architecture", "架构"),
    "column_mib": ("Published, MiB", "公开值（MiB）"),
    "column_formula_mib": ("Predicted, MiB", "预测（MiB）"),
    "column_ratio": ("Ratio", "比值"),
    "column_median": ("Median error", "误差中位数"),
    "column_p90": ("90 % within", "90% 以内"),
    "column_worst": ("Worst", "最差"),
    "column_under": ("Too low", "偏低占比"),
    "column_covered": ("In range", "落在范围内"),
    "all_rows": ("all rows", "全部"),
    "accuracy_alt": ("Error of predicted peak memory by group", "各组显存峰值预测误差"),
    "accuracy_caption": (
        "{covered} of {n} published peaks lie in the 90 % range (95 % interval of that share: {low:.0%} "
        "to {high:.0%}). Too low: share of rows whose prediction is below the published peak.",
        "{n} 条公开峰值中有 {covered} 条落在 90% 范围内（该比例的 95% 区间：{low:.0%} 至 {high:.0%}）。偏低占比：预测低于公开峰值的行所占比例。",
    ),
    "ladder": (
        "Largest batch of image models on a 24 GB RTX 3090, as timm found it out by trying: the very step "
        "for {exact} of {n}, within one step for {within_one}, too large for {too_large}; each family "
        "predicted without itself.",
        "24 GB 的 RTX 3090 上图像模型的最大批大小（timm 逐档试出）：{n} 个中 {exact} 个完全一致，{within_one} 个相差不超过一档，{too_large} 个偏大；每个系列都在排除自身后预测。",
    ),
    "reports": (
        "Users' reports of “fits” or “out of memory”: {right} of the {decided} that could be traced are "
        "decided rightly ({all} reports in all).",
        "用户报告的“能跑”或“爆显存”：可追踪的 {decided} 条中判断正确 {right} 条（共 {all} 条报告）。",
    ),
    "speed_show": ("Grade speed too (takes some seconds)", "也给速度评分（需数秒）"),
    "speed_grading": ("Grading on published figures", "正在用公开数字评分"),
    "speed_alt": ("Error of predicted speed by claim", "各项速度预测的误差"),
    "speed_shown": (
        "The ratio of the two cards is predicted per model: {n} workloads of pairs could be traced "
        "({needed} needed for that claim).",
        "两卡速度比按模型预测：成对任务中有 {n} 个可以追踪（至少需要 {needed} 个）。",
    ),
    "speed_not_shown": (
        "Only {n} workloads measured on both cards could be traced, {needed} are needed to show that a "
        "ratio per model is better: so the ratio of two cards is one constant with its range. No public "
        "pair is video training.",
        "在两块卡上都测过、又能追踪的任务只有 {n} 个，要证明按模型预测更好至少需要 {needed} 个；所以两卡速度比用一个带范围的常数。公开数据里没有一对是视频训练。",
    ),
    "column_claim": ("Claim", "项目"),
    "column_mean": ("Mean", "平均"),
    "claim_step_time_family_left_out_rtx_3090": (
        "step time on the RTX 3090, family left out",
        "RTX 3090 每步耗时（排除同系列）",
    ),
    "claim_without_grouped_convolutions": (
        "– without grouped convolutions",
        "– 不含分组卷积",
    ),
    "claim_step_time_new_model_other_software_any_card": (
        "step time, new model, other software, any card",
        "新模型、其他软件、任意显卡的每步耗时",
    ),
    "claim_one_row_a_model_card_and_precision": (
        "– one row a model, card and precision",
        "– 每个模型、显卡、精度只取一行",
    ),
    "claim_step_time_from_a_batch_nearby_same_model_and_card": (
        "step time from a batch nearby, same model and card",
        "由相近批大小推算的每步耗时（同模型同卡）",
    ),
    "claim_speed_against_the_rtx_3090_half_workload_left_out": (
        "speed against the RTX 3090, half precision, workload left out",
        "相对 RTX 3090 的速度，半精度（排除该任务）",
    ),
    "claim_card_factor_half_card_left_out": (
        "factor of a card, half precision, card left out",
        "显卡系数，半精度（排除该卡）",
    ),
    "claim_step_on_a_card_left_out_half": (
        "step on a card left out, half precision",
        "未见过的显卡上每步耗时，半精度",
    ),
    "claim_speed_against_the_rtx_3090_tf32_workload_left_out": (
        "speed against the RTX 3090, TF32, workload left out",
        "相对 RTX 3090 的速度，TF32（排除该任务）",
    ),
    "claim_card_factor_tf32_card_left_out": (
        "factor of a card, TF32, card left out",
        "显卡系数，TF32（排除该卡）",
    ),
    "claim_step_on_a_card_left_out_tf32": (
        "step on a card left out, TF32",
        "未见过的显卡上每步耗时，TF32",
    ),
    "claim_ratio_a100_40gb_rtx_4090_workload_left_out": (
        "ratio A100 40GB / RTX 4090, workload left out",
        "A100 40GB / RTX 4090 速度比（排除该任务）",
    ),
    "claim_in_one_software_on_both_cards": (
        "– in one software on both cards",
        "– 两卡软件相同",
    ),
    "claim_baseline_one_constant": ("– baseline: one constant", "– 基线：一个常数"),
    "claim_share_of_speed_kept_on_2_to_8_gpus_resnet_50": (
        "share of speed kept on 2 to 8 GPUs, ResNet-50",
        "2 至 8 卡的速度保持率，ResNet-50",
    ),
    "claim_on_lambda_s_a100_sxm4_machines": (
        "– on Lambda's A100 SXM4 machines",
        "– Lambda 的 A100 SXM4 机器",
    ),
    "not_validated": (
        "Not validated on a GPU yet: the emulation of autocast, checkpointing, and the smallest limit "
        "that works (cap). Published rows are mostly fp32 convolutional nets trained with SGD: they say "
        "little about a VideoMAE under AMP. A run of yours would say more.",
        "尚未在 GPU 上验证：autocast 的模拟、激活检查点、能跑通的最小显存（cap）。公开数据大多是 SGD 训练的 fp32 卷积网络，对 AMP 下的 VideoMAE 说明不了多少。你的实测能补上这一点。",
    ),
    "column_confidence": ("Confidence", "可信度"),
    "column_source": ("Source", "出处"),
    "column_software": ("Software", "软件"),
    "open": ("open", "打开"),
    "status_ok": ("ok", "正常"),
    "status_unstable": ("never steady", "未稳定"),
    "status_oom": ("out of memory", "显存不足"),
    "status_failed": ("failed", "失败"),
    "outside": ("outside the band", "超出范围"),
    "pending": ("under review", "审核中"),
}
