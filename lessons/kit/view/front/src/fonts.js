// The letters of the course. A font that is declared inside a shadow root is ignored, so the document gets it, once.
// SIGNS and MATHS were cut by fonttools' pyftsubset, with these ranges, from SourceSans3VF-Upright.ttf (npm source-sans
// 3.52.0) and from @fontsource/noto-sans-math 5.3.0, because the files for Latin and Greek have neither ‖, ₀, √ nor ∇.
import greek from "./source-sans-3-greek-wght-normal.woff2";
import latin from "./source-sans-3-latin-wght-normal.woff2";
import maths from "./noto-sans-math-signs.woff2";
import signs from "./source-sans-3-signs-wght-normal.woff2";

const FAMILY = "Weightspace Sans";
const LATIN = "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0303-0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215";
const GREEK = "U+0370-03FF";
const SIGNS = "U+0100-0130,U+0132-0151,U+0154-017F,U+1D3E,U+1D40,U+1D56-1D57,U+1EF9,U+2016,U+2070-209C,U+2113,U+2153-215E,U+2190,U+2192,U+21D0-21D3,U+2202,U+2206,U+220F,U+2211,U+221A,U+221E,U+222B,U+2248,U+2260,U+2264-2265,U+2713,U+2717,U+27E8-27E9";
const MATHS = "U+21A6,U+21BB,U+2207-2208,U+2218,U+221D,U+2225,U+226A-226B,U+22A5,U+22C5,U+2308-230B,U+2AAF-2AB0";

export function register() {
  if ([...document.fonts].some((face) => face.family.includes(FAMILY))) return;
  for (const [data, unicodeRange] of [[latin, LATIN], [greek, GREEK], [signs, SIGNS], [maths, MATHS]]) {
    document.fonts.add(new FontFace(FAMILY, `url(data:font/woff2;base64,${data})`, { weight: "200 900", unicodeRange }));
  }
}
