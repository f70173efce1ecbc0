"""All attacks, by name: a few inputs of each in every run of the tests, many in the slow ones."""

from collections.abc import Mapping

from hostile import arrays, kernel_calls, media, model_files, stored, web
from hostile.attack import Attack

ATTACKS: Mapping[str, Attack] = {
    attack.name: attack
    for module in (model_files, media, arrays, stored, kernel_calls, web)
    for attack in module.ATTACKS
}
