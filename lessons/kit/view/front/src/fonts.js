// The letters of the course. A font that is declared inside a shadow root is ignored, so the document gets it, once.
import greek from "./source-sans-3-greek-wght-normal.woff2";
import latin from "./source-sans-3-latin-wght-normal.woff2";

const FAMILY = "Weightspace Sans";
const GREEK = "U+0370-03FF";
const LATIN = "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215";

export function register() {
  if ([...document.fonts].some((face) => face.family.includes(FAMILY))) return;
  for (const [data, range] of [[latin, LATIN], [greek, GREEK]]) {
    document.fonts.add(new FontFace(FAMILY, `url(data:font/woff2;base64,${data})`, { weight: "200 900", unicodeRange: range }));
  }
}
