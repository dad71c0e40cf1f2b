export function savePicture() {}
