"""A session that is clicked on in a real JupyterLab, with a real kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.places import DESKTOP

EXAMPLE = Path(__file__).parents[2] / "examples" / "cards.ipynb"
SHARE = Path(sysconfig.get_path("data")) / "share" / "jupyter"
NEWS = "@jupyterlab/apputils-extension:announcements"  # would ask elsewhere


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Run JupyterLab over the example, with nothing of whoever runs this; yield its address."""
    names = ("config", "data", "runtime", "ipython", "root")
    config, data, runtime, ipython, root = (folder / name for name in names)
    (config / "labconfig").mkdir(parents=True)
    disabled = {"disabledExtensions": {NEWS: True}}
    (config / "labconfig" / "page_config.json").write_text(json.dumps(disabled), "utf-8")
    root.mkdir()
    shutil.copy(EXAMPLE, root)
    environment = os.environ | {
        "JUPYTER_PATH": str(SHARE),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(data),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "IPYTHONDIR": str(ipython),
    }
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    options += [f"--ServerApp.root_dir={root}", f"--LabApp.app_dir={SHARE / 'lab'}"]
    options += ["--LabApp.extension_manager=readonly"]
    command = [sys.executable, "-m", "jupyterlab", *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        try:
            yield _address(runtime, process)
        finally:
            process.terminate()  # it ends its kernels
            process.wait()


def _address(runtime: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until it has written down where it is."""
    while not (files := [*runtime.glob("jpserver-*.json")]) or not files[0].stat().st_size:
        assert process.poll() is None, "JupyterLab did not start"
        time.sleep(0.1)
    running = json.loads(files[0].read_text("utf-8"))
    return f"{running['url']}doc/tree/{EXAMPLE.name}?token={running['token']}"


@pytest.fixture
def notebook(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """The example in JupyterLab, run from top to bottom."""
    with lab(tmp_path) as address:
        page = chromium.new_page(**DESKTOP)
        page.set_default_timeout(60_000)
        page.goto(address)
        page.get_by_text("| Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        yield page
        page.close()


def test_a_walk(notebook: Page) -> None:
    texts, pictures = (notebook.locator(".jp-OutputArea-output .box").nth(k) for k in range(2))
    standing = texts.locator(".standing")
    expect(standing).to_have_text("1 of about 3")
    texts.locator(".card").nth(1).click()  # anywhere on it
    expect(standing).to_have_text("2 of about 3")
    notebook.keyboard.press("n")  # keys go to the cards, not to the notebook's own shortcuts
    expect(standing).to_have_text("3 of about 3")
    notebook.keyboard.press("u")
    expect(standing).to_have_text("2 of about 3")
    notebook.keyboard.press("1")
    expect(standing).to_have_text("3 of about 3")
    assert notebook.locator(".jp-Cell").count() == 8, "a key changed the notebook"
    texts.get_by_text("Good enough, show me").click()
    expect(standing).to_have_text("Your shortlist, after 2 screens")
    expect(texts.locator(".reason")).not_to_be_empty()
    texts.get_by_text("Two more screens").click()
    expect(standing).to_have_text("3 of about 4")
    texts.get_by_text("Good enough, show me").click()
    texts.get_by_label("This one: number 2").click()
    expect(standing).to_have_text("Your choice, after 2 screens")
    answer = texts.locator(".final .text").inner_text()
    notebook.get_by_text("print(session.cost").click()
    notebook.keyboard.press("Control+Enter")
    expect(notebook.get_by_text(f"2 answered: {answer}")).to_be_visible()  # the kernel has it
    expect(pictures.locator("img")).to_have_count(9)
    pictures.locator(".card").nth(8).click()
    expect(pictures.locator(".standing")).to_contain_text("2 of about")
