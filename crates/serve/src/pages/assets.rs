//! Styles, script and fonts. Their addresses hold a hash of the content, so browsers may cache them forever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use report::chart::page_variables;
use report::{MEDIUM_FONT, REGULAR_FONT};

use crate::error::Problem;

/// Colours of text that need more contrast with the page than marks do.
const LIGHT: &str =
    "--link:#285a9e;--good-text:#23714a;--bad-text:#b23a31;--warn-text:#8f5410;--tint:#2f67b126;";
const DARK: &str =
    "--link:#84b4f2;--good-text:#6cc795;--bad-text:#ee8a81;--warn-text:#eba556;--tint:#6ba2ea33;";

struct Asset {
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let fonts = [("roboto-400", REGULAR_FONT), ("roboto-500", MEDIUM_FONT)];
    let mut assets: Vec<Asset> =
        fonts.map(|(stem, bytes)| asset(stem, "ttf", "font/ttf", bytes.to_vec())).into();
    let style = style([&assets[0].name, &assets[1].name]);
    assets.push(asset("style", "css", "text/css; charset=utf-8", style.into_bytes()));
    let script = include_bytes!("../assets/page.js").to_vec();
    assets.push(asset("page", "js", "text/javascript; charset=utf-8", script));
    assets
});

fn asset(stem: &str, end: &str, kind: &'static str, bytes: Vec<u8>) -> Asset {
    let hash = store::sha256(&bytes);
    Asset { name: format!("{stem}.{}.{end}", &hash[..16]), kind, bytes }
}

/// The style with chart colours, and the bars behind percentages as classes: style attributes are forbidden.
fn style(fonts: [&str; 2]) -> String {
    let (light, dark) = (page_variables(false), page_variables(true));
    let mut text = String::new();
    for (weight, font) in [400, 500].iter().zip(fonts) {
        text.push_str(&format!(
            "@font-face{{font-family:Roboto;font-weight:{weight};font-display:swap;src:url({font})}}\n"
        ));
    }
    text.push_str(&format!(
        ":root{{color-scheme:light;{light}{LIGHT}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}{DARK}}}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{dark}{DARK}}}\n"
    ));
    text.push_str(include_str!("../assets/style.css"));
    for percent in 0..=100 {
        text.push_str(&format!(".p{percent}{{background-size:{percent}% 100%}}"));
    }
    text
}

/// The address of an asset by the first part of its name.
pub fn address(stem: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.name.starts_with(stem));
    found.map_or_else(String::new, |asset| format!("/assets/{}", asset.name))
}

/// Sends an asset.
pub async fn send(Path(name): Path<String>) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| Problem::not_found("there is no such file"))?;
    let headers =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.bytes.as_slice()).into_response())
}
