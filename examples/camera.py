"""Classify what a camera sees, a frame at a time: python camera.py MODEL.onnx [CAMERA or VIDEO]."""

import sys
from itertools import count
from pathlib import Path

import cv2  # pip install opencv-python-headless

import leantta

odd = Path("odd")  # frames unlike the training data, to look at and perhaps to train on
odd.mkdir(exist_ok=True)
source = sys.argv[2] if len(sys.argv) > 2 else "0"
camera = cv2.VideoCapture(int(source) if source.isdigit() else source)
with leantta.load(sys.argv[1]) as session:
    for number in count():
        there, frame = camera.read()
        if not there:
            sys.exit(f"no frame {number} from {source}")  # systemd starts it again
        seen = session.predict_one(leantta.fit_image(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), session.info))
        shift = seen.shift or 0.0  # None if nothing adapts
        print(f"{seen.label} {seen.probability:.2f} shift {shift:.2f}", flush=True)
        if shift > 1:
            cv2.imwrite(str(odd / f"{number:06d}.png"), frame)
