"""Words used on several pages: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "language": ("Language", "语言"),
    "tagline": (
        "Which GPU fits your video training job, and which one costs less",
        "视频模型训练：哪块显卡放得下，哪块更省钱",
    ),
    "page_calculator": ("Calculator", "计算器"),
    "page_cards": ("All cards", "所有显卡"),
    "page_measurements": ("Measurements", "实测数据"),
    "page_guide": ("Guide", "指南"),
    "colon": (": ", "："),
    "comma": (", ", "、"),
    "semicolon": ("; ", "；"),
    "fits": ("fits", "放得下"),
    "tight": ("tight", "勉强"),
    "parts": ("not in one go", "需梯度累积"),
    "no": ("does not fit", "放不下"),
    "unknown": ("not measured", "未测量"),
    "measured": ("measured", "实测"),
    "corrected": ("corrected", "经实测修正"),
    "formula": ("formula", "公式"),
    "version": ("Model version {model}, data version {data}", "模型版本 {model}，数据版本 {data}"),
}
