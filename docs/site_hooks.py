"""The site of mkdocs.yml has the changes and the benchmarks too, which lie outside of docs/."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ELSEWHERE = (
    "CHANGELOG.md",
    "benchmarks/BENCHMARKS.md",
    "benchmarks/pages/*.md",
    "benchmarks/*.svg",
)


def on_files(files: Any, config: Any) -> Any:
    """Add them under the paths that they have in the project."""
    from mkdocs.structure.files import File

    for path in sorted(path for pattern in ELSEWHERE for path in ROOT.glob(pattern)):
        place = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links lead there, and the name of a file behind that of a format is left out."""
    markdown = re.sub(r"\]\(\.\./(CHANGELOG|benchmarks/BENCHMARKS)\.md", r"](\1.md", markdown)
    return re.sub(r"^(```[\w-]+) \S+$", r"\1", markdown, flags=re.M)
