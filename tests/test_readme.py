"""The README is true: CI runs its test command, and its examples print what it shows."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.page_blocks import ROOT, run

README = ROOT / "README.md"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^python3 .*pytest$", README.read_text("utf-8"), re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_it_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= 700


def test_examples_print_what_is_shown() -> None:
    """`python tools/refresh_outputs.py README.md` writes what they print now into the page."""
    languages = Counter[str]()
    for block, now in run(README):
        assert now == block.content
        languages[block.language] += 1
    assert languages["console"] >= 2
    assert languages["python"] >= 1


OLD = """\
# A page
```json judged.jsonl
{"query_id": "1", "doc_id": "a", "grade": 1}
```

```console
$ cat judged.jsonl; echo a line \\
>     of two
something else
$ cranfield measures P | head -1
```

   ```python
   >>> print("a word\\n\\na sum 0.123")
   a word
   of ... 0.1...
   >>> print("some text")
   some ...
   >>> name = 3
   >>> name
   4
   >>> int("x")
   Traceback (most recent call last):
       ...
   ValueError: as it was

   ```
The end.
"""
NOW = """\
# A page
```json judged.jsonl
{"query_id": "1", "doc_id": "a", "grade": 1}
```

```console
$ cat judged.jsonl; echo a line \\
>     of two
{"query_id": "1", "doc_id": "a", "grade": 1}
a line of two
$ cranfield measures P | head -1
P: Precision: the fraction of the retrieved documents that is relevant.
```

   ```python
   >>> print("a word\\n\\na sum 0.123")
   a word
   <BLANKLINE>
   a sum 0.123
   >>> print("some text")
   some ...
   >>> name = 3
   >>> name
   3
   >>> int("x")
   Traceback (most recent call last):
       ...
   ValueError: as it was

   ```
The end.
"""


def test_refreshing_writes_what_examples_print_and_keeps_what_a_page_elides(tmp_path: Path) -> None:
    page, broken = tmp_path / "page.md", tmp_path / "broken.md"
    page.write_text(OLD)
    broken.write_text("\n```python\n>>> 1 / 0\n```\n")
    command = [sys.executable, ROOT / "tools" / "refresh_outputs.py", broken, page]
    done = subprocess.run(command, capture_output=True, text=True)
    assert page.read_text() == NOW
    assert (done.returncode, done.stderr) == (1, "")
    assert "broken.md:3: 1 / 0" in done.stdout
