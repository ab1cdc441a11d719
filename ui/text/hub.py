"""Texts of the Hugging Face Hub look-up. A problem's word in `ui/hub.py` is its key here."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Read a model from the Hugging Face Hub", "从 Hugging Face Hub 读取模型"),
    "what": (
        "Reads config.json and the headers of the safetensors files, never the weights. It is the "
        "only request ClipFit sends, and only when you press the button.",
        "只读取 config.json 和 safetensors 文件头，不下载权重。这是 ClipFit 唯一的联网请求，点按钮才会发出。",
    ),
    "id": ("Model id", "模型 ID"),
    "look_up": ("Look up", "查询"),
    "use": ("Use these values", "采用这些值"),
    "used": ("The inputs now hold these values.", "已填入上面的输入项。"),
    "as_profile": (
        "{id} is a {architecture}; ClipFit has a trace of it: {model}.",
        "{id} 的架构是 {architecture}，ClipFit 有它的追踪数据：{model}。",
    ),
    "as_custom": (
        "{id} is a {architecture}; ClipFit has no trace of it and describes it by the custom sliders.",
        "{id} 的架构是 {architecture}，ClipFit 没有它的追踪数据，改用自定义滑块描述。",
    ),
    "params": (
        "{millions:,.1f} M parameters, counted from the headers of its weights ({dtypes}).",
        "从权重文件头数得 {millions:,.1f} M 个参数（{dtypes}）。",
    ),
    "sliders": (
        "The custom sliders set from it describe {millions:,.1f} M parameters.",
        "由此设定的自定义滑块对应 {millions:,.1f} M 个参数。",
    ),
    "no_params": ("Parameters were not counted: {why}", "没有统计参数量：{why}"),
    "read_from": ("Read: {files}; commit {commit}.", "读取了：{files}；提交 {commit}。"),
    "column_name": ("In the config", "配置项"),
    "column_value": ("Value", "值"),
    "table": ("What was read from the config of {id}", "从 {id} 的配置读到的内容"),
    # notes of calc.hub_map
    "note_diffusion": (
        "Sizes only: cross-attention to text, the text encoder, the VAE and the LoRA or full "
        "fine-tuning recipe of a diffusion model are not part of the custom sliders. Take the result "
        "as a rough guide.",
        "仅为尺寸：扩散模型的文本交叉注意力、文本编码器、VAE 以及 LoRA 或全量微调方式都不在自定义滑块之内，结果只作粗略参考。",
    ),
    "note_pretraining": (
        "These weights come from masked pre-training. The figures are for fine-tuning; the profile "
        "that ends in -pretrain is the pre-training itself.",
        "这份权重来自掩码预训练。这里给出的是微调的数字；以 -pretrain 结尾的条目才是预训练本身。",
    ),
    "note_frames": (
        "Its number of frames is not one that ClipFit offers: the frames stay as you set them.",
        "它的帧数不在 ClipFit 的选项内，帧数保持你的设置。",
    ),
    "note_size": (
        "Its frame size is not one that ClipFit offers: the size stays as you set it.",
        "它的画面边长不在 ClipFit 的选项内，边长保持你的设置。",
    ),
    # problems
    "bad_id": (
        "{id} is not a model id; write owner/name, as in MCG-NJU/videomae-base.",
        "{id} 不是模型 ID；请写成 所有者/名称，例如 MCG-NJU/videomae-base。",
    ),
    "missing": (
        "There is no public model of this name on the Hub; check the spelling. Private ones look the "
        "same from here.",
        "Hub 上没有这个名字的公开模型，请检查拼写。私有模型从这里看也是如此。",
    ),
    "private": (
        "The Hub does not show this model to everyone; ClipFit sends no token. Set the custom sliders "
        "by hand.",
        "Hub 不向所有人开放这个模型，而 ClipFit 不发送令牌。请手动设置自定义滑块。",
    ),
    "gated": (
        "This model is gated: its owner asks for consent before files can be read, and ClipFit sends "
        "no token. Set the custom sliders by hand.",
        "这是受限模型：须先同意所有者的条款才能读取文件，而 ClipFit 不发送令牌。请手动设置自定义滑块。",
    ),
    "offline": (
        "The Hub could not be reached from this server; try again later, or set the custom sliders by "
        "hand.",
        "本服务器连不上 Hub；请稍后再试，或手动设置自定义滑块。",
    ),
    "offline_mode": (
        "This server is set to offline mode (HF_HUB_OFFLINE); nothing was asked. Set the custom "
        "sliders by hand.",
        "本服务器设为离线模式（HF_HUB_OFFLINE），没有发出请求。请手动设置自定义滑块。",
    ),
    "timeout": (
        "The Hub did not answer within {seconds:g} s; try again later, or set the custom sliders by "
        "hand.",
        "Hub 在 {seconds:g} 秒内没有答复；请稍后再试，或手动设置自定义滑块。",
    ),
    "busy": (
        "Too many look-ups are under way on this server; try again in a few seconds.",
        "本服务器上的查询太多，请几秒后再试。",
    ),
    "rate_limited": (
        "The Hub has had too many requests from this server; try again in a few minutes.",
        "本服务器向 Hub 的请求过多，请几分钟后再试。",
    ),
    "rate_limited_for": (
        "The Hub has had too many requests from this server; try again in {seconds} s.",
        "本服务器向 Hub 的请求过多，请 {seconds} 秒后再试。",
    ),
    "server_error": (
        "The Hub answered with an error of its own ({status}); try again later.",
        "Hub 自身出错（{status}），请稍后再试。",
    ),
    "too_large": (
        "{file} has {mib:,.1f} MiB, more than the {limit} MiB that ClipFit reads of such a file.",
        "{file} 有 {mib:,.1f} MiB，超过 ClipFit 对此类文件的读取上限 {limit} MiB。",
    ),
    "too_many_shards": (
        "its weights lie in {shards} files, more than the {limit} that ClipFit reads.",
        "权重分成 {shards} 个文件，超过 ClipFit 的读取上限 {limit} 个。",
    ),
    "no_config": (
        "{id} has neither config.json nor model_index.json, so there is nothing to read sizes from.",
        "{id} 既没有 config.json 也没有 model_index.json，读不到尺寸。",
    ),
    "no_safetensors": (
        "it has no safetensors file under the usual name.",
        "没有常规命名的 safetensors 文件。",
    ),
    "bad_file": (
        "{file} is not what its name says, or is damaged.",
        "{file} 与名称不符或已损坏。",
    ),
    "unknown_architecture": (
        "Its architecture is {name}; ClipFit can read {known}. Set the custom sliders by hand if it is "
        "a video transformer.",
        "它的架构是 {name}；ClipFit 能读 {known}。如果是视频 Transformer，请手动设置自定义滑块。",
    ),
    "bad_value": (
        "In its config {key} is {value}; ClipFit takes {allowed}.",
        "配置中的 {key} 为 {value}；ClipFit 可接受 {allowed}。",
    ),
}
