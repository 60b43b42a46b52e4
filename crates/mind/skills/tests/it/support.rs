//! A home with skills in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_home::config::Settings;
use hermes_home::{Env, Home, Resolved};
use hermes_skills::{Change, Changed, Origin, Refused, Skills};
use hermes_testkit::TempHome;
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Answer, Args, CallCx, Tool, ToolOutput};
use serde_json::{Value, json};

pub struct Bench {
    pub temp: TempHome,
    pub env: Env,
    pub home: Home,
}

impl Bench {
    pub fn new() -> Self {
        let temp = TempHome::new();
        let dir = temp.home();
        Self::in_home(temp, &dir)
    }

    /// In somebody else's home.
    pub fn at(dir: &Path) -> Self {
        Self::in_home(TempHome::new(), dir)
    }

    fn in_home(temp: TempHome, dir: &Path) -> Self {
        let env = Env::from([
            ("HOME", dir.to_str().unwrap()),
            ("HERMES_HOME", dir.join(".hermes").to_str().unwrap()),
            ("HERMES_CONTAINER", "0"),
        ]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        home.ensure().unwrap();
        Self { temp, env, home }
    }

    pub fn with_config(yaml: &str) -> Self {
        let bench = Self::new();
        bench.temp.write("config.yaml", yaml);
        bench
    }

    pub fn skills(&self) -> Skills {
        let settings = Settings::load(&self.home, &self.env);
        Skills::new(&self.home, &settings, &self.env, "cli")
    }

    pub fn dir(&self) -> PathBuf {
        self.home.skills_dir()
    }

    /// Puts a skill on disk, as a person would.
    pub fn skill(&self, path: &str, front: &str, body: &str) -> PathBuf {
        let file = format!("skills/{path}/SKILL.md");
        self.temp
            .write(file, format!("---\n{front}\n---\n{body}\n"))
    }

    /// A skill of the usual kind.
    pub fn plain(&self, path: &str) -> PathBuf {
        let name = path.rsplit('/').next().unwrap();
        self.skill(
            path,
            &format!("name: {name}\ndescription: About {name}."),
            "Do it.",
        )
    }
}

pub fn content(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\n# {name}\n\nDo it.\n")
}

pub fn create(skills: &Skills, name: &str) -> Result<Changed, Refused> {
    let change = Change::Create {
        content: content(name),
        category: None,
    };
    skills.change(name, &change, Origin::Foreground)
}

pub fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

pub fn nobody() -> CallCx {
    cx_with(FixedAsker::new(Answer::Nobody))
}

pub async fn call(tool: &dyn Tool, given: Value) -> Value {
    let output: ToolOutput = tool.call(args(given), &nobody()).await;
    serde_json::from_str(&output.text).unwrap()
}

pub async fn view(skills: &Arc<Skills>, name: &str) -> Value {
    let tool = hermes_skills::SkillView::new(skills.clone());
    call(&tool, json!({"name": name})).await
}
