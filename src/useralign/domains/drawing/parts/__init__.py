"""Parts that several scenes draw: skies, plants, buildings, animals, things, letters."""
