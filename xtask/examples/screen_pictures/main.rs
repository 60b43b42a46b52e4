//! Pictures of the real program: it runs in a terminal of ours against a scripted model, and what it drew becomes
//! SVG. `screen_pictures HERMES DIR`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a developer's tool: it tells where it wrote, and stops where a scene does not come about"
)]

mod frozen;
mod scenes;
mod svg;

use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1).map(PathBuf::from);
    let (Some(hermes), Some(dir)) = (args.next(), args.next()) else {
        anyhow::bail!("screen_pictures HERMES DIR");
    };
    std::fs::create_dir_all(&dir)?;
    for scene in scenes::all(&hermes) {
        let path = dir.join(format!("{}.svg", scene.name));
        std::fs::write(&path, svg::picture(&scene.rows, scene.title))?;
        println!("{}", path.display());
    }
    Ok(())
}
