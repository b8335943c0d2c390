"""The renderer: every word of a recipe draws something, the same each time."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from useralign import OptionError
from useralign.domains.drawing import Recipe, finish, picture, scenes, styles
from useralign.domains.drawing.canvas import Canvas, capsule, path, ring, smooth
from useralign.domains.drawing.palettes import LIGHTS, palettes
from useralign.domains.drawing.parts import letters
from useralign.domains.drawing.recipe import COMPOSITIONS
from useralign.errors import MissingExtraError

Image = pytest.importorskip("PIL.Image")
render = pytest.importorskip("useralign.domains.drawing.render")

HERO = {"scene": "character", "subject": "knight", "style": "flat", "palette": "meadow"}
DEFAULTS = {"plain", "no frame", "two eyes", "smile", "armchair", "hills", "title top"}
SUBJECTS = [(name, subject) for name, scene in scenes.SCENES.items() for subject in scene.subjects]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))


def drawn(**words: Any) -> Any:
    return np.asarray(render.render(Recipe.from_dict({**HERO, **words})), dtype=float) / 255


@pytest.mark.parametrize("style", styles.NAMES)
def test_each_style_looks_like_no_other(style: str) -> None:
    own = drawn(style=style, elements=["peaks", "fox"])
    assert own.shape == (384, 384, 3)
    assert own.std() > 0.05
    for other in styles.NAMES:
        if other != style and other in ("flat", "ink", "neon"):
            assert np.abs(own - drawn(style=other, elements=["peaks", "fox"])).mean() > 0.02


@pytest.mark.parametrize(("scene", "subject"), SUBJECTS)
def test_each_subject_is_drawn_with_each_of_its_elements(scene: str, subject: str) -> None:
    elements = scenes.SCENES[scene].elements
    for start in range(len(elements) // 6 + 1):
        stage = scenes.Stage(
            canvas=Canvas(),
            palette=palettes()["autumn"].under(LIGHTS[start % len(LIGHTS)]),
            rng=np.random.default_rng(start),
            subject=subject,
            light=LIGHTS[start % len(LIGHTS)],
            composition=COMPOSITIONS[start % len(COMPOSITIONS)],
            elements=elements[6 * start : 6 * start + 6],
        )
        scenes.SCENES[scene].compose(stage)
        assert len(stage.canvas.shapes) > 4
        assert all(np.isfinite(shape.points).all() for shape in stage.canvas.shapes)


@pytest.mark.parametrize("scene", scenes.SCENES)
def test_each_element_changes_the_picture_of_some_subject(scene: str) -> None:
    chosen = scenes.SCENES[scene]
    plain = {subject: outline(scene, subject, ()) for subject in chosen.subjects}
    silent = [
        element
        for element in chosen.elements
        if all(outline(scene, s, (element,)) == plain[s] for s in chosen.subjects)
    ]
    # These name what is drawn when nothing is said.
    assert set(silent) <= DEFAULTS


def outline(scene: str, subject: str, elements: tuple[str, ...]) -> int:
    canvas = Canvas()
    rng = np.random.default_rng(3)
    words = ("day", "centred", elements)
    scenes.SCENES[scene].compose(scenes.Stage(canvas, palettes()["vintage"], rng, subject, *words))
    return hash(tuple((s.kind, s.colour, s.to, s.width, s.points.tobytes()) for s in canvas.shapes))


@pytest.mark.parametrize("word", ["palette", "light", "mood", "composition", "texture", "seed"])
def test_each_word_is_seen(word: str) -> None:
    values: dict[str, list[Any]] = {
        "palette": list(palettes()),
        "light": list(LIGHTS),
        "mood": list(finish.MOODS),
        "composition": list(COMPOSITIONS),
        "texture": list(finish.TEXTURES),
        "seed": [1, 2, 3],
    }
    pictures = [drawn(**{word: value}, elements=["ruins"]) for value in values[word]]
    for one, two in pairwise(pictures):
        assert np.abs(one - two).mean() > 0.005


def test_the_same_recipe_gives_the_same_bytes() -> None:
    for style in ("watercolour", "lowpoly", "gouache", "riso"):
        recipe = Recipe.from_dict({**HERO, "style": style, "seed": 5})
        assert render.png(recipe) == render.png(recipe)


def test_a_change_of_style_leaves_the_scene_as_it_is() -> None:
    flat, airbrush = (drawn(style=s, elements=["peaks"], seed=4) for s in ("flat", "airbrush"))
    assert np.corrcoef(flat.ravel(), airbrush.ravel())[0, 1] > 0.9


def test_a_picture_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = picture(HERO)
    assert Image.open(io.BytesIO(first.read_bytes())).size == (384, 384)
    monkeypatch.setattr(render, "png", lambda _: pytest.fail("drawn twice"))
    assert picture({**HERO, "elements": []}) == first
    assert first.name.startswith("character-")
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"useralign\[vision\]"):
        picture(HERO)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"style": "oil"}, "unknown style 'oil'; expected one of flat, watercolour"),
        ({"scene": "opera"}, "unknown scene 'opera'; expected one of card"),
        ({"subject": "sofa"}, "character: unknown subject 'sofa'; expected one of knight"),
        ({"elements": ["sofa"]}, "character: unknown element 'sofa'"),
        ({"elements": "owl"}, "expected a list of words"),
        ({"palette": "beige"}, "unknown palette 'beige'"),
        ({"light": "noon"}, "unknown light 'noon'"),
        ({"mood": "odd"}, "unknown mood 'odd'"),
        ({"composition": "up"}, "unknown composition 'up'"),
        ({"texture": "silk"}, "unknown texture 'silk'"),
        ({"seed": -1}, "seed=-1; expected a whole number"),
        ({"seed": "x"}, "seed='x'"),
        ({"colour": "red"}, "unknown key 'colour'; expected one of scene, subject"),
    ],
)
def test_a_wrong_recipe_says_what_was_expected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Recipe.from_dict({**HERO, **change})


def test_a_recipe_that_is_none_or_lacks_something() -> None:
    with pytest.raises(OptionError, match="has no style, palette"):
        Recipe.from_dict({"scene": "room", "subject": "study"})
    with pytest.raises(OptionError, match="a recipe is a mapping"):
        Recipe.from_dict(["room"])  # type: ignore[arg-type]


def test_recipes_come_back_from_plain_data() -> None:
    recipe = Recipe.from_dict({**HERO, "elements": ["owl"], "seed": 3})
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    assert recipe.fingerprint(1) != recipe.fingerprint(2)


def test_frames_nest_and_end() -> None:
    canvas = Canvas()
    with canvas.placed(0.5, 0.5, 0.5), canvas.placed(1.0, 0.0, 2.0, 90):
        canvas.line([(0.0, 0.0), (0.1, 0.0)], (0, 0, 0), 0.02)
    canvas.line([(0.0, 0.0), (0.1, 0.0)], (0, 0, 0), 0.02)
    inner, outer = canvas.shapes
    np.testing.assert_allclose(inner.points, [[1.0, 0.5], [1.0, 0.6]], atol=1e-12)
    assert inner.width == pytest.approx(0.02)
    np.testing.assert_allclose(outer.points, [[0.0, 0.0], [0.1, 0.0]])


def test_curves_go_through_their_points() -> None:
    points = path("0,0 1,0 1,1", 2, 3, 0.5)
    assert points == [(2, 3), (2.5, 3), (2.5, 3.5)]
    curve = smooth(points, closed=False)
    assert all(np.abs(curve - point).sum(axis=1).min() < 1e-9 for point in points)
    assert ring(0, 0, (1.0, 0.5), 10).shape == (10, 2)
    assert np.abs(capsule((0, 0), (1, 0), (0.2, 0.2))[:, 1]).max() == pytest.approx(0.1)


def test_every_title_has_its_letters() -> None:
    from useralign.domains.drawing.scenes import cover, logo, poster

    words = "".join([*cover.TITLES, *cover.AUTHORS, *logo.NAMES, *poster.TITLES, "0127925XIV"])
    assert set(words) <= set(letters.GLYPHS)
