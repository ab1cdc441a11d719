"""Real clips: made here, decoded by torchcodec, waited for by the step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench import clips, record
from bench.__main__ import main
from tests.bench.measuring import ROOT, files, flags

av = pytest.importorskip("av", reason="PyAV makes the clips of this test")
pytest.importorskip("torchcodec")
FRAMES, WIDTH, HEIGHT = 12, 32, 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two videos of 12 and of 3 frames that get brighter frame by frame."""
    made = tmp_path_factory.mktemp("videos")
    make_video(made / "long.mp4", FRAMES)
    (made / "inner").mkdir()
    make_video(made / "inner" / "short.MP4", 3)
    (made / "notes.txt").write_text("no video")
    return made


def make_video(path: Path, frames: int) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=8)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for index in range(frames):
            picture = torch.full((HEIGHT, WIDTH, 3), 20 * index, dtype=torch.uint8).numpy()
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


@pytest.fixture(scope="module")
def ffmpeg(tmp_path_factory):
    """Environment in which torchcodec finds FFmpeg: the system's, else the one inside PyAV."""
    inside = Path(av.__file__).parent.parent / "av.libs"
    links = tmp_path_factory.mktemp("ffmpeg")
    for library in (*inside.glob("libav*.so.*"), *inside.glob("libsw*.so.*")):
        name, _, version = library.name.partition(".so.")
        plain = f"{name.split('-')[0]}.so.{version.split('.')[0]}"
        (links / plain).symlink_to(library)
    return {**os.environ, "LD_LIBRARY_PATH": f"{links}:{inside}", "OMP_NUM_THREADS": "1"}


def python(code: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", code]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


def test_videos_are_found_below_the_folder(folder):
    assert [path.name for path in clips.find_videos(folder)] == ["short.MP4", "long.mp4"]


def test_a_folder_without_videos_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"no video in it; allowed are \.mp4"):
        clips.find_videos(tmp_path)


def test_the_middle_square_is_taken():
    frames = torch.zeros(2, 3, 20, 40, dtype=torch.uint8)
    frames[..., 10:30] = 200
    assert clips.square(frames, 10).float().mean() > 195


def test_run_on_real_clips_tells_how_long_the_step_waits(folder, ffmpeg, tmp_path):
    """Decodes, too: frames follow one another, a video that is too short repeats its last frame."""
    words = flags("net", tmp_path, [2], "--video-dir", str(folder), "--workers", "1")
    code = f"""
import torch
from pathlib import Path
from bench.__main__ import main
from bench.clips import VideoClips

torch.manual_seed(0)
videos = VideoClips(Path({str(folder)!r}), 4, 16)
short, long = videos[0], videos[1]
assert short.shape == long.shape == (4, 3, 16, 16) and short.dtype == torch.uint8
brightness = long.float().mean((1, 2, 3))
assert (brightness.diff() > 5).all(), brightness
assert (short[-1] == short[-2]).all() and (short[0] != short[1]).any()
raise SystemExit(main(["run", *{words!r}]))
"""
    python(code, ffmpeg)
    (path,) = files(tmp_path)
    (row,) = record.load(path).rows
    assert row.status in ("ok", "unstable"), row.note
    assert row.data == "clips" and row.time.data_wait_ms > 0 and row.learning.loss == ()


def test_without_ffmpeg_there_is_one_sentence(folder, monkeypatch):
    def missing(*_, **__):
        raise RuntimeError("Could not load libtorchcodec. Likely causes: ...")

    import torchcodec.decoders

    monkeypatch.setattr(torchcodec.decoders, "VideoDecoder", missing)
    with pytest.raises(ValueError, match="install ffmpeg"):
        clips.open_video(folder / "long.mp4")


def test_a_folder_that_is_none_is_refused_before_anything_runs(tmp_path, capsys):
    words = flags("net", tmp_path, [1], "--video-dir", str(tmp_path / "nowhere"))
    assert main(["run", *words]) == 2
    assert "which is no folder" in capsys.readouterr().err
