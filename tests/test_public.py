"""What users can rely on: public names and their signatures change only where that is said."""

import pytest

from tests import public


def test_every_promised_name_exists():
    unknown = public.stable_names() - public.public_names().keys()
    assert not unknown, "docs/promises.md promises names that are not public"
    assert len(public.stable_names()) > 50


@pytest.mark.parametrize("kind", public.KINDS)
def test_no_signature_changes_unnoticed(kind):
    stored = public.STORED.read_text(encoding="utf-8").splitlines()
    before, now = (
        [line for line in lines if line.startswith(kind)] for lines in (stored, public.listing())
    )
    assert now == before, (
        f"a {kind} signature changed: say so in CHANGELOG.md, then python -m tests.public"
    )


def test_a_changed_default_and_a_new_argument_are_seen():
    def before(a, *, b=1): ...
    def default(a, *, b=2): ...
    def argument(a, *, b=1, c=None): ...

    texts = {public._signature(each) for each in (before, default, argument)}
    assert texts == {"(a, *, b=1)", "(a, *, b=2)", "(a, *, b=1, c=None)"}
