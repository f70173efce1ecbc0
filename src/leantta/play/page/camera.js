// The camera as a source of pictures: the next frame is taken when the last one is answered.

import { asImage } from "./picture.js";

const WHY = {
  NotAllowedError: "The browser was not allowed to use the camera. Allow it in the address bar.",
  NotFoundError: "There is no camera here.",
  NotReadableError: "Another program uses the camera.",
};

let stream = null;

export function isOn() {
  return stream !== null;
}

/** Give each frame to `take` until the camera is stopped; throws what to tell people. */
export async function start(video, take) {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("The browser gives the camera to pages from https or localhost only.");
  }
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false });
  } catch (error) {
    throw new Error(WHY[error.name] ?? `The camera does not start: ${error.message}`);
  }
  video.srcObject = stream;
  await video.play();
  follow(video, take, stream);
}

export function stop(video) {
  stream?.getTracks().forEach((track) => track.stop());
  stream = null;
  video.srcObject = null;
}

async function follow(video, take, own) {
  while (stream === own) {
    if (video.videoWidth) await take(asImage(video, video.videoWidth, video.videoHeight));
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}
