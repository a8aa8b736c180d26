"""Models: embedders and chat models. Only `jiyi.wiring` imports them."""
