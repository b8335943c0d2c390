"""Scenes: each arranges shapes on a canvas for one kind of picture."""

from __future__ import annotations

from useralign.domains.drawing.scenes import (
    card,
    character,
    city,
    cover,
    creature,
    garden,
    landscape,
    logo,
    poster,
    room,
)
from useralign.domains.drawing.scenes.stage import Scene, Stage

__all__ = ["SCENES", "Scene", "Stage"]

SCENES: dict[str, Scene] = {
    "card": card.SCENE,
    "character": character.SCENE,
    "city": city.SCENE,
    "cover": cover.SCENE,
    "creature": creature.SCENE,
    "garden": garden.SCENE,
    "landscape": landscape.SCENE,
    "logo": logo.SCENE,
    "poster": poster.SCENE,
    "room": room.SCENE,
}
