"""The table of datasets: what is published of each, and how it is read."""

from collections.abc import Mapping
from dataclasses import replace

from leantta.modalities.datasets import DatasetInfo
from leantta.modalities.motion import MOTION
from leantta.modalities.sound import SOUND
from leantta_lab.datasets.bird_lists import load_clips
from leantta_lab.datasets.birds import load_corpus
from leantta_lab.datasets.cifar import load_images
from leantta_lab.datasets.cifar_c import open_cells
from leantta_lab.datasets.har import load_windows
from leantta_lab.datasets.imagenet import CLASSES, is_sample, load_photographs

_CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_CIFAR100_CLASSES = (
    *("apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee"),
    *("beetle", "bicycle", "bottle", "bowl", "boy", "bridge", "bus"),
    *("butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair"),
    *("chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile"),
    *("cup", "dinosaur", "dolphin", "elephant", "flatfish", "forest", "fox"),
    *("girl", "hamster", "house", "kangaroo", "keyboard", "lamp", "lawn_mower"),
    *("leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle"),
    *("mountain", "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter"),
    *("palm_tree", "pear", "pickup_truck", "pine_tree", "plain", "plate", "poppy"),
    *("porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket"),
    *("rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper"),
    *("snail", "snake", "spider", "squirrel", "streetcar", "sunflower", "sweet_pepper"),
    *("table", "tank", "telephone", "television", "tiger", "tractor", "train"),
    *("trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf"),
    *("woman", "worm"),
)

CIFAR10 = DatasetInfo(
    name="cifar10",
    classes=_CIFAR10_CLASSES,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2471, 0.2435, 0.2616),
    load=load_images,
    corrupted=open_cells,
)
CIFAR100 = DatasetInfo(
    name="cifar100",
    classes=_CIFAR100_CLASSES,
    mean=(0.5071, 0.4865, 0.4409),
    std=(0.2673, 0.2564, 0.2762),
    load=load_images,
    corrupted=open_cells,
)
IMAGENET = DatasetInfo(
    name="imagenet",
    classes=tuple(map(str, range(CLASSES))),
    mean=(127 / 255,) * 3,  # as EfficientNet-Lite takes its images: (byte - 127) / 128
    std=(128 / 255,) * 3,
    load=load_photographs,
    is_folder=is_sample,
)
HAR = DatasetInfo(
    name="har",
    classes=("walking", "walking_upstairs", "walking_downstairs", "sitting", "standing", "laying"),
    mean=(-0.0009, -0.0003, -0.0002, -0.0054, 0.0002, 0.0005, 0.8145, 0.0104, 0.0620),
    std=(0.1974, 0.1271, 0.1049, 0.4153, 0.3823, 0.2630, 0.4057, 0.4125, 0.3298),
    load=load_windows,
    modality=MOTION,
)
ESC50 = DatasetInfo(
    name="esc50",
    classes=("no bird", "bird"),
    mean=(0.0,),
    std=(1.0,),
    load=load_clips,
    modality=SOUND,
    yes_no=True,
)
CAPUCHIN = replace(ESC50, name="capuchin", learnt_from="esc50")
BIRDVOX = replace(ESC50, name="birdvox", load=load_corpus)
WARBLR = replace(BIRDVOX, name="warblr", learnt_from="birdvox")

DATASETS: Mapping[str, DatasetInfo] = {
    info.name: info for info in (CIFAR10, CIFAR100, IMAGENET, HAR, ESC50, CAPUCHIN, BIRDVOX, WARBLR)
}
