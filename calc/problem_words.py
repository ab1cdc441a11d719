"""What can be wrong with a file of `measurements/`, in English and Chinese side by side.

In a line each of them follows the path of a field, which is never translated. What is allowed in
words (`{allowed}`) may begin or end with either script, so Chinese puts a colon before it.
"""

from __future__ import annotations

from collections.abc import Mapping

PROBLEMS: Mapping[str, tuple[str, str]] = {
    "problem_plain": ("{text}", "{text}"),
    "problem_more": ("... and {n} more", "……还有 {n} 条"),
    # What is allowed, in words
    "problem_anything": ("anything", "任意值"),
    "problem_text": ("text", "文本"),
    "problem_whole": ("a whole number", "整数"),
    "problem_number": ("a number", "数字"),
    "problem_within": ("{kind} from {low:g} to {high:g}", "{low:g} 到 {high:g} 之间的{kind}"),
    "problem_flag": ("true or false", "true 或 false"),
    "problem_or": ("{one} or {other}", "{one} 或 {other}"),
    "problem_or_null": ("null or {allowed}", "{allowed}，或 null"),
    "problem_mapping": ("a mapping", "键值映射"),
    "problem_list": ("a list", "列表"),
    "problem_list_of": ("a list of {allowed}", "列表（每项：{allowed}）"),
    "problem_row": ("a list [{names}]", "列表（依次为：{names}）"),
    "problem_sourced": (
        "null, or a mapping {{value, source, note}}", "null，或键值映射 {{value, source, note}}",
    ),
    "problem_date": ("a date, yyyy-mm-dd", "日期（yyyy-mm-dd）"),
    "problem_who": (
        "a GitHub handle in lower case (letters, digits, single hyphens), or anonymous",
        "小写的 GitHub 用户名（字母、数字、单个连字符），或 anonymous",
    ),
    "problem_model_id": ("a model id, as in video-swin-t", "模型标识，例如 video-swin-t"),
    "problem_https": ("an https:// address", "https:// 开头的地址"),
    "problem_none_yet": ("none yet", "暂无"),
    # The form of a record
    "problem_kind": ("is {value}; allowed is {allowed}", "实际值：{value}；应为：{allowed}"),
    "problem_missing": ("is missing; allowed is {allowed}", "缺失；应为：{allowed}"),
    "problem_key_near": (
        "is an unknown key; {near} may be meant", "未知的键；可能想写的是 {near}",
    ),
    "problem_key": ("is an unknown key; allowed are {keys}", "未知的键；可用的键：{keys}"),
    "problem_characters": (
        "has {n} characters; allowed are {most}", "有 {n} 个字符；最多允许 {most} 个",
    ),
    "problem_entries": (
        "has {n} entries; allowed are {low} to {high}", "有 {n} 项；允许 {low} 到 {high} 项",
    ),
    "problem_no_source": (
        "has a value but no source; name one of the sources at the top of the file",
        "有数值却没有出处；请填写文件开头列出的某个出处",
    ),
    # YAML
    "problem_line": ("line {line}: {what}", "第 {line} 行：{what}"),
    "problem_yaml": ("is not YAML: {reason}", "不是合法的 YAML：{reason}"),
    "problem_unreadable": ("unreadable", "无法解析"),
    "problem_not_utf8": (
        "has characters that UTF-8 does not allow; save it as UTF-8",
        "含有 UTF-8 不允许的字符；请另存为 UTF-8",
    ),
    "problem_documents": (
        "a second document begins; a file holds one",
        "这里开始了第二个文档；一个文件只能有一个文档",
    ),
    "problem_deep": ("is nested deeper than {most} levels", "嵌套超过 {most} 层"),
    "problem_key_kind": (
        "a key is a list or a mapping; keys are words", "键是列表或键值映射；键只能是文本",
    ),
    "problem_key_twice": ("key {key!r} stands twice", "键 {key!r} 出现了两次"),
    "problem_merge_key": (
        "merge keys (<<) are not allowed; write the values out",
        "不允许使用合并键（<<）；请把值直接写出来",
    ),
    "problem_anchor": (
        "anchors and aliases (&, *) are not allowed; write the value out",
        "不允许使用锚点和别名（&、*）；请把值直接写出来",
    ),
    "problem_tag": (
        "tags (!) are not allowed; write plain values", "不允许使用标签（!）；请直接写普通的值",
    ),
    # Files
    "problem_unreadable_file": ("cannot be read: {reason}", "无法读取：{reason}"),
    "problem_too_long": ("is too long; allowed are {most} bytes", "过长；最多允许 {most} 字节"),
    "problem_too_large": (
        "has {n} bytes; allowed are {most}; split the run by model or precision",
        "有 {n} 字节；最多允许 {most} 字节；请按模型或精度拆成几个文件",
    ),
    "problem_not_text": (
        "is not text in UTF-8; save it as UTF-8", "不是 UTF-8 文本；请另存为 UTF-8",
    ),
    "problem_name": (
        "is not called by its content; it belongs at measurements/runs/{wanted} "
        "(a file that was edited by hand gets another name: leave it as bench wrote it)",
        "文件名与内容不符；应放在 measurements/runs/{wanted}"
        "（手工改动会使文件名改变：请保持 bench 写出的原样）",
    ),
    # Cards, prices and profiles
    "problem_price_card": (
        "{card} is not in cards.yaml; add it there first",
        "cards.yaml 中没有 {card}；请先在那里加上",
    ),
    "problem_twice": ("{name} stands twice", "{name} 出现了两次"),
    "problem_source": (
        "source {key!r} is not in the list at the top of the file",
        "出处 {key!r} 不在文件开头的列表中",
    ),
    "problem_no_profile": (
        "model is {model!r}; allowed are {allowed}", "模型为 {model!r}；可选的有：{allowed}",
    ),
    "problem_profile_name": (
        "is {model!r}; the file is called {stem}.yaml",
        "实际值：{model!r}；而文件名是 {stem}.yaml",
    ),
    # Text
    "problem_html": (
        "has HTML ({found}); allowed is plain text", "含有 HTML（{found}）；只允许纯文本",
    ),
    "problem_link": (
        "has a link that begins with {start}; allowed are links with https://",
        "含有以 {start} 开头的链接；只允许 https:// 链接",
    ),
    "problem_invisible": (
        "has the invisible character U+{code:04X}; take it out",
        "含有不可见字符 U+{code:04X}；请删除",
    ),
    "problem_path": (
        "names a path of your machine ({path}); shorten it to a name",
        "含有本机路径（{path}）；请只保留名称",
    ),
    "problem_mail": ("has an e-mail address; take it out", "含有邮箱地址；请删除"),
    # Where, when and how it was measured
    "problem_cpu": (
        "is 'cpu'; runs on a CPU are for trying out, allowed is cuda",
        "实际值：'cpu'；CPU 上的测试只供试跑，这里只接受 cuda",
    ),
    "problem_not_given": (
        "is not given; a run on a GPU states it", "未填写；GPU 上的实测必须写明",
    ),
    "problem_not_recorded": (
        "is not given; install nvidia-ml-py to record it",
        "未填写；安装 nvidia-ml-py 后即可记录",
    ),
    "problem_no_calibration": (
        "is not given; odd cards cannot be told from it", "未填写；因此无法识别性能异常的显卡",
    ),
    "problem_others": ("{n} others used the card", "另有 {n} 个进程占用了这张显卡"),
    "problem_no_such_day": (
        "is {date}; allowed are days of the calendar, yyyy-mm-dd",
        "实际值：{date}；应为日历上存在的日期，格式为 yyyy-mm-dd",
    ),
    "problem_day": (
        "is {day}; allowed is from {first} to today, {today}",
        "实际值：{day}；应在 {first} 到今天（{today}）之间",
    ),
    "problem_model": (
        "is {model!r}; allowed are {allowed}", "实际值：{model!r}；可选的有：{allowed}",
    ),
    "problem_card": (
        "is {card!r}; add it to measurements/cards.yaml in the same change",
        "实际值：{card!r}；请在同一次提交中把它加入 measurements/cards.yaml",
    ),
    "problem_total": (
        "is {total:g}; allowed are {low:g} to {high:g} for {card}",
        "实际值：{total:g}；{card} 应在 {low:g} 到 {high:g} 之间",
    ),
    "problem_other_gpu": (
        "is {gpu}, which is {named}, not {card}", "实际值：{gpu}，这是 {named}，而不是 {card}",
    ),
    "problem_unknown_gpu": (
        "is {gpu}, which is no card of cards.yaml, not {card}",
        "实际值：{gpu}；cards.yaml 中没有这样的显卡，应为 {card}",
    ),
    "problem_fast_card": (
        "is {got:g}; allowed is at most {most:.4g}, {factor} x the peak of {card}",
        "实际值：{got:g}；最多 {most:.4g}，即 {card} 峰值的 {factor} 倍",
    ),
    "problem_slow_card": (
        "is {got:g}, only {share:.0%} of the peak", "实际值：{got:g}，只有峰值的 {share:.0%}",
    ),
    # Rows
    "problem_same_point": (
        "measures the same point as rows[{first}]; keep one of them",
        "与 rows[{first}] 是同一个测点；请只保留其中一行",
    ),
    "problem_status_needs": (
        "is missing; a row with status {status} has it",
        "缺失；状态为 {status} 的行必须填写",
    ),
    "problem_status_has_none": (
        "is given; a row with status {status} has none",
        "不应填写；状态为 {status} 的行没有这一项",
    ),
    "problem_no_note": (
        "is missing; a failed row says why", "缺失；状态为 failed 的行要写明原因",
    ),
    "problem_status": ("is given; the status is {status}", "不应填写；这一行的状态是 {status}"),
    "problem_reserved_low": (
        "is {reserved:g}; allowed is at least what is allocated, {allocated:g}",
        "实际值：{reserved:g}；不能小于已分配的 {allocated:g}",
    ),
    "problem_reserved_high": (
        "is {reserved:g}; allowed is at most the card's {limit:.0f}",
        "实际值：{reserved:g}；不能超过显卡的上限 {limit:.0f}",
    ),
    "problem_no_memory": ("is 0; training takes memory", "实际值：0；训练必然占用显存"),
    "problem_percentiles": (
        "p10 / median / p90 are {p10:g} / {median:g} / {p90:g}; allowed is 0 < rising",
        "p10 / median / p90 为 {p10:g} / {median:g} / {p90:g}；应大于 0 且从小到大排列",
    ),
    "problem_clips": (
        "is {given:g}; allowed is batch x accumulation x gpus / median = {right:.4g} within 2 %",
        "实际值：{given:g}；应为 batch x accumulation x gpus / median = {right:.4g}，误差不超过 2%",
    ),
    "problem_parts": (
        "the parts take {parts:.4g} ms, longer than the step",
        "各部分合计 {parts:.4g} ms，比整步还长",
    ),
    "problem_power": (
        "is {power:g}; the card's limit is {limit:g}",
        "实际值：{power:g}；显卡的功耗上限为 {limit:g}",
    ),
    "problem_fast_step": (
        "is {median:g}; allowed is at least {least:.4g}: "
        "the work at {factor} x the peak of {card}",
        "实际值：{median:g}；不能小于 {least:.4g}："
        "即使达到 {card} 峰值的 {factor} 倍，计算也要这么久",
    ),
    "problem_falls": (
        "allocated memory falls from {less:g} MiB at batch {small} to {more:g} at batch {large}",
        "已分配显存在 batch 为 {small} 时是 {less:g} MiB，"
        "batch 增到 {large} 时反而降到 {more:g} MiB",
    ),
    "problem_band": (
        "is none, but {n} rows lie outside the band, such as {point}; "
        "allowed is pending (`python -m bench submit` writes it)",
        "实际值：none，但有 {n} 行超出预测范围，例如 {point}；"
        "应为 pending（`python -m bench submit` 会写入）",
    ),
    "problem_needless_pending": (
        "is pending, but every row lies inside the band",
        "实际值：pending，但所有行都在预测范围内",
    ),
    "problem_copied": (
        "is the same measurement as one in {file}", "与 {file} 中的一行是同一次测量",
    ),
}
