"""What a module promises is what it shows."""

import importlib
import pkgutil

import pytest

import dragoman

MODULES = [module.name for module in pkgutil.walk_packages(dragoman.__path__, "dragoman.")]


@pytest.mark.parametrize("name", MODULES)
def test_all_is_sorted_and_true(name):
    module = importlib.import_module(name)
    promised = getattr(module, "__all__", [])

    assert sorted(promised, key=lambda word: (not word.isupper(), not word[0].isupper(), word)) == list(promised)
    assert all(hasattr(module, word) for word in promised)


def test_the_front_page_lists_every_public_name():
    assert all(hasattr(dragoman, name) for name in dragoman.__all__)
    assert set(dir(dragoman)) >= set(dragoman.__all__)
