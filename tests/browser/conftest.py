"""One browser for all tests of pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kit.chromium import NoChromium, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Where there is none the tests are skipped, with the reason; where everything must be tested, they
    fail."""
    from playwright.sync_api import sync_playwright

    try:
        program = chromium()
    except NoChromium as absence:
        if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
            raise
        pytest.skip(str(absence))
    environment = {name: value for name, value in program.environment.items() if value}
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program.program, env=environment, args=["--disable-dev-shm-usage"]
        )
        yield running
        running.close()
