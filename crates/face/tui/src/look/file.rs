//! Skins of the owner: `<home>/skins/<name>.yaml`. What a file leaves out or gets wrong is as in the default skin.

use std::fs;
use std::path::Path;

use hermes_home::{Home, yaml};
use serde_json::{Map, Value};

use super::{Rgb, Skin};

/// A larger file is no skin.
const MAX_BYTES: u64 = 1024 * 1024;

/// The skin of that name, and what was wrong with it. A file of the owner wins over a built-in skin.
pub fn load(home: &Home, name: &str) -> (Skin, Vec<String>) {
    let name = match name.trim() {
        "" => "default",
        name => name,
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let path = home.dir().join("skins").join(format!("{name}.yaml"));
    if name.chars().all(plain) && path.is_file() {
        return match text(&path) {
            Ok(text) => read(name, &text),
            Err(error) => (Skin::default(), vec![error]),
        };
    }
    match Skin::builtin(name) {
        Some(skin) => (skin, Vec::new()),
        None => {
            let known: Vec<_> = Skin::builtins().collect();
            let warning = format!("no skin `{name}`; there are {}", known.join(", "));
            (Skin::default(), vec![warning])
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if fs::metadata(path).map_err(told)?.len() > MAX_BYTES {
        return Err(format!("{}: too large for a skin", path.display()));
    }
    fs::read_to_string(path).map_err(told)
}

/// Reads the text of a skin file.
pub(super) fn read(name: &str, text: &str) -> (Skin, Vec<String>) {
    let mut reading = Reading {
        skin: Skin {
            name: name.to_owned(),
            description: String::new(),
            ..Skin::default()
        },
        warnings: Vec::new(),
    };
    match yaml::read(text) {
        Ok(Value::Object(file)) => reading.file(&file),
        Ok(_) => reading.warn("the file is no mapping"),
        Err(error) => reading.warn(&error.to_string()),
    }
    (reading.skin, reading.warnings)
}

struct Reading {
    skin: Skin,
    warnings: Vec<String>,
}

impl Reading {
    fn warn(&mut self, what: &str) {
        self.warnings
            .push(format!("skin `{}`: {what}", self.skin.name));
    }

    fn file(&mut self, file: &Map<String, Value>) {
        let mut skin = self.skin.clone();
        self.word(file, "description", &mut skin.description);
        self.word(file, "tool_prefix", &mut skin.tool_prefix);
        self.word(file, "banner_logo", &mut skin.banner_logo);
        self.word(file, "banner_hero", &mut skin.banner_hero);
        if let Some(colors) = self.section(file, "colors") {
            for (name, value) in colors {
                match (skin.colors.of(name), value.as_str().and_then(Rgb::parse)) {
                    (Some(place), Some(rgb)) => *place = rgb,
                    (None, _) => self.warn(&format!("no colour is called `{name}`")),
                    (_, None) => self.warn(&format!("colors.{name} is no #RRGGBB")),
                }
            }
        }
        if let Some(spinner) = self.section(file, "spinner") {
            let own = &mut skin.spinner;
            self.words(spinner, "waiting_faces", &mut own.waiting_faces);
            self.words(spinner, "thinking_faces", &mut own.thinking_faces);
            self.words(spinner, "thinking_verbs", &mut own.thinking_verbs);
            self.wings(spinner, &mut own.wings);
        }
        if let Some(branding) = self.section(file, "branding") {
            let own = &mut skin.branding;
            self.word(branding, "agent_name", &mut own.agent_name);
            self.word(branding, "welcome", &mut own.welcome);
            self.word(branding, "goodbye", &mut own.goodbye);
            self.word(branding, "response_label", &mut own.response_label);
            self.word(branding, "prompt_symbol", &mut own.prompt_symbol);
            self.word(branding, "help_header", &mut own.help_header);
        }
        if let Some(emojis) = self.section(file, "tool_emojis") {
            for (tool, value) in emojis {
                match value.as_str() {
                    Some(emoji) => {
                        let emoji = crate::text::one_line(emoji);
                        skin.tool_emojis.insert(tool.clone(), emoji);
                    }
                    None => self.warn(&format!("tool_emojis.{tool} is no text")),
                }
            }
        }
        self.skin = skin;
    }

    fn section<'f>(
        &mut self,
        file: &'f Map<String, Value>,
        name: &str,
    ) -> Option<&'f Map<String, Value>> {
        match file.get(name)? {
            Value::Object(section) => Some(section),
            Value::Null => None,
            _ => {
                self.warn(&format!("`{name}` is no mapping"));
                None
            }
        }
    }

    fn word(&mut self, section: &Map<String, Value>, name: &str, place: &mut String) {
        match section.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => *place = crate::text::harmless(text),
            Some(_) => self.warn(&format!("`{name}` is no text")),
        }
    }

    /// An empty list counts as left out.
    fn words(&mut self, section: &Map<String, Value>, name: &str, place: &mut Vec<String>) {
        let items = match section.get(name) {
            None | Some(Value::Null) => return,
            Some(Value::Array(items)) => items,
            Some(_) => return self.warn(&format!("`{name}` is no list")),
        };
        let words: Option<Vec<_>> = items.iter().map(one_word).collect();
        match words {
            Some(words) if !words.is_empty() => *place = words,
            Some(_) => {}
            None => self.warn(&format!("`{name}` is no list of texts")),
        }
    }

    fn wings(&mut self, section: &Map<String, Value>, place: &mut Vec<(String, String)>) {
        let Some(value) = section.get("wings").filter(|value| !value.is_null()) else {
            return;
        };
        let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
            Some([left, right]) => Some((one_word(left)?, one_word(right)?)),
            _ => None,
        };
        let pairs = value
            .as_array()
            .map(|items| items.iter().map(pair).collect());
        match pairs.flatten() {
            Some(pairs) => *place = pairs,
            None => self.warn("`wings` is no list of pairs"),
        }
    }
}

fn one_word(value: &Value) -> Option<String> {
    value.as_str().map(crate::text::one_line)
}

#[cfg(test)]
mod tests {
    use hermes_home::{Env, Resolved};
    use hermes_testkit::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn files_of_the_owner_come_first() {
        let temp = TempHome::new();
        let dir = temp.hermes();
        let env = Env::from([("HERMES_HOME", dir.to_str().unwrap())]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        fs::create_dir_all(dir.join("skins")).unwrap();
        let write = |name: &str, text: &str| fs::write(dir.join("skins").join(name), text).unwrap();
        write("mono.yaml", "tool_prefix: '>'\n");
        write("bad.yaml", "colors: 1\n");
        fs::write(dir.join("out.yaml"), "tool_prefix: '!'\n").unwrap();
        let check = |name: &str, prefix: &str, warnings: usize| {
            let (skin, told) = load(&home, name);
            let found = (skin.tool_prefix.as_str(), told.len());
            assert_eq!(found, (prefix, warnings), "{name}: {told:?}");
        };
        check("mono", ">", 0);
        check("ares", "╎", 0);
        check("", "┊", 0);
        check("bad", "┊", 1);
        check("nope", "┊", 1);
        check("../out", "┊", 1);
    }

    #[test]
    fn what_is_left_out_is_as_in_the_default() {
        let text = "colors: {banner_border: '#010203'}\nspinner: {wings: [['<', '>']]}\n\
                    branding: {prompt_symbol: '$'}\ntool_emojis: {terminal: T}\n";
        let (skin, warnings) = read("mine", text);
        assert_eq!(warnings, Vec::<String>::new());
        let default = Skin::default();
        assert_eq!(skin.name, "mine");
        assert_eq!(skin.colors.banner_border, Rgb(1, 2, 3));
        assert_eq!(skin.colors.banner_title, default.colors.banner_title);
        assert_eq!(skin.spinner.wings, [("<".to_owned(), ">".to_owned())]);
        let faces = default.spinner.thinking_faces;
        assert_eq!(skin.spinner.thinking_faces, faces);
        assert_eq!(skin.branding.prompt_symbol, "$");
        assert_eq!(skin.branding.goodbye, default.branding.goodbye);
        assert_eq!(skin.tool_emojis["terminal"], "T");
    }

    #[test]
    fn what_is_wrong_is_told_and_left_out() {
        let check = |text: &str, warnings: &[&str]| {
            let (skin, told) = read("x", text);
            assert_eq!(told, warnings, "{text:?}");
            assert_eq!(skin.colors, Skin::default().colors, "{text:?}");
        };
        check("colors: red\n", &["skin `x`: `colors` is no mapping"]);
        check(
            "colors: {ui_ok: green, nope: '#fff'}\n",
            &[
                "skin `x`: colors.ui_ok is no #RRGGBB",
                "skin `x`: no colour is called `nope`",
            ],
        );
        check(
            "spinner: {wings: [a]}\nbranding: [1]\ntool_prefix: 3\n",
            &[
                "skin `x`: `tool_prefix` is no text",
                "skin `x`: `wings` is no list of pairs",
                "skin `x`: `branding` is no mapping",
            ],
        );
        check("- a\n", &["skin `x`: the file is no mapping"]);
        check("branding: {welcome: \"a\\eb\"}\n", &[]);
        assert_eq!(read("x", "a: [").1.len(), 1);
    }
}
