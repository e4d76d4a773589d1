"""Types and shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

from jaxtyping import install_import_hook

install_import_hook("nppac", "type_checker.checked")
