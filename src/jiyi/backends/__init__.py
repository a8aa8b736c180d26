"""One module or folder for each engine. Only `jiyi.wiring` imports them."""
