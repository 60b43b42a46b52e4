//! From what somebody calls a skill to the skill that is meant.

use serde_json::{Value, json};

use crate::file;
use crate::find::{Found, NO_CATEGORY, Place, Skill};
use crate::format::Document;
use crate::service::Skills;

/// Names told when the one asked for isn't there.
const MAX_NAMES: usize = 20;

/// Why a skill cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("There is no skill '{name}'. Available: {}", available.join(", "))]
    Unknown {
        name: String,
        available: Vec<String>,
    },
    #[error("'{name}' is the name of {} skills; say which with category/name: {}", paths.len(), paths.join(", "))]
    Ambiguous { name: String, paths: Vec<String> },
    #[error("The skill '{name}' is made for {}, not for this system", platforms.join(", "))]
    Unsupported {
        name: String,
        platforms: Vec<String>,
    },
    #[error("The skill '{0}' is disabled; its owner can enable it with `hermes skills enable {0}`")]
    Disabled(String),
    #[error("{0}")]
    Unreadable(String),
}

impl Missing {
    pub fn to_json(&self) -> Value {
        let mut result = json!({"success": false, "error": self.to_string()});
        match self {
            Self::Unknown { available, .. } => {
                result["available_skills"] = json!(available);
                result["hint"] = json!("skills_list shows all of them.");
            }
            Self::Ambiguous { paths, .. } => result["matches"] = json!(paths),
            Self::Unsupported { .. } => result["readiness_status"] = json!("unsupported"),
            Self::Disabled(_) | Self::Unreadable(_) => {}
        }
        result
    }
}

impl Skills {
    /// Whatever has this name, whether it may be used or not.
    pub fn resolve(&self, name: &str) -> Result<Skill, Missing> {
        let name = name.trim().trim_matches('/');
        let all = self.library.skills();
        // No plugin brings skills here: `plugin:skill` can only mean a category.
        let path = name.replace(':', "/");
        let fits = |skill: &&Skill| skill.is_called(name) || is_path_of(&path, skill);
        let mut found: Vec<&Skill> = all.iter().filter(fits).collect();
        // The home's own comes before those of other directories, here as in every list.
        if found.iter().any(|skill| skill.place == Place::Own) {
            found.retain(|skill| skill.place == Place::Own);
        }
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => self.flat(&path).ok_or_else(|| self.unknown(name)),
            several => Err(Missing::Ambiguous {
                name: name.to_owned(),
                paths: several
                    .iter()
                    .map(|skill| skill.dir().display().to_string())
                    .collect(),
            }),
        }
    }

    fn unknown(&self, name: &str) -> Missing {
        let mut names: Vec<String> = self
            .visible()
            .into_iter()
            .map(|skill| skill.found.name)
            .collect();
        names.sort();
        names.truncate(MAX_NAMES);
        Missing::Unknown {
            name: name.to_owned(),
            available: names,
        }
    }

    /// A skill of the first days: one file instead of a directory.
    fn flat(&self, path: &str) -> Option<Skill> {
        if path.is_empty()
            || path
                .split('/')
                .any(|part| part.starts_with('.') || part.is_empty())
        {
            return None;
        }
        let roots = self.library.roots().iter();
        let mut files = roots.map(|root| (root, root.join(format!("{path}.md"))));
        let (root, file) = files.find(|(_, file)| file.is_file())?;
        let (bytes, _) = file::read(&file).ok()?;
        let document = Document::parse(&String::from_utf8_lossy(&bytes));
        let name = path.rsplit('/').next().unwrap_or(path);
        Some(Skill {
            found: Found {
                dir_name: name.to_owned(),
                category: path
                    .rsplit_once('/')
                    .map_or(NO_CATEGORY, |(c, _)| c)
                    .to_owned(),
                name: document.name(name),
                description: document.description(),
                platforms: document.platforms(),
                conditions: document.conditions(),
                path: format!("{path}.md"),
            },
            root: root.as_path().into(),
            place: if root == self.library.own() {
                Place::Own
            } else {
                Place::External
            },
        })
    }
}

fn is_path_of(path: &str, skill: &Skill) -> bool {
    let Some((category, name)) = path.rsplit_once('/') else {
        return false;
    };
    skill.found.path == path || (skill.found.category == category && skill.is_called(name))
}
