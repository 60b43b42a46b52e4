//! Choosing among a server's tools: what people type, and what that does to `tools:` in the configuration.

use crate::config::Filter;

/// One change below a server's `tools:`; without names the key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterEdit {
    /// `include` or `exclude`.
    pub key: &'static str,
    pub names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// Switches one tool. Nothing comes back when it is so already.
pub fn switched(filter: &Filter, tool: &str, to: Switch) -> Result<Vec<FilterEdit>, String> {
    if filter.admits(tool) == (to == Switch::On) {
        return Ok(Vec::new());
    }
    // Who named what they want has decided about everything else: only that list counts.
    let (key, names) = match &filter.include {
        Some(names) => ("include", names),
        None => ("exclude", &filter.exclude),
    };
    let adds = (key == "include") == (to == Switch::On);
    let mut names: Vec<String> = names.iter().filter(|name| *name != tool).cloned().collect();
    if adds {
        names.push(tool.to_owned());
    }
    match names.is_empty() && key == "include" {
        true => Err(format!(
            "{tool} is the last one that is on; disable the server instead"
        )),
        false => Ok(vec![FilterEdit { key, names }]),
    }
}

/// Leaves on exactly those of `all` that are `wanted`, given by their places.
pub fn chosen(all: &[String], wanted: &[usize]) -> Vec<FilterEdit> {
    let edit = |key, names| FilterEdit { key, names };
    let is_wanted = |index: &usize| wanted.contains(index);
    let names = |keep: &dyn Fn(&usize) -> bool| -> Vec<String> {
        let kept = all.iter().enumerate().filter(|(index, _)| keep(index));
        kept.map(|(_, name)| name.clone()).collect()
    };
    let on = names(&is_wanted);
    match () {
        () if on.len() == all.len() => {
            vec![edit("include", Vec::new()), edit("exclude", Vec::new())]
        }
        // An empty list of what is wanted would mean that nothing was said.
        () if on.is_empty() => vec![edit("include", Vec::new()), edit("exclude", all.to_vec())],
        () => vec![edit("include", on), edit("exclude", Vec::new())],
    }
}

/// The places `1 3-5,7` stands for, counted from 0, in order.
pub fn places(text: &str, count: usize) -> Result<Vec<usize>, String> {
    let mut places = Vec::new();
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    for word in words {
        let wrong = || format!("'{word}' is not a number from 1 to {count}");
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let number = |text: &str| text.parse::<usize>().ok();
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(wrong());
        };
        if first < 1 || last > count || first > last {
            return Err(wrong());
        }
        places.extend(first - 1..last);
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    fn edit(key: &'static str, list: &[&str]) -> FilterEdit {
        FilterEdit {
            key,
            names: names(list),
        }
    }

    #[test]
    fn switching_one_tool() {
        let check = |include: Option<&[&str]>, exclude: &[&str], to, expected: &[FilterEdit]| {
            let filter = Filter {
                include: include.map(names),
                exclude: names(exclude),
                ..Filter::default()
            };
            assert_eq!(switched(&filter, "a", to).unwrap(), expected);
        };
        check(None, &[], Switch::On, &[]);
        check(None, &[], Switch::Off, &[edit("exclude", &["a"])]);
        check(None, &["b"], Switch::Off, &[edit("exclude", &["b", "a"])]);
        check(None, &["b", "a"], Switch::On, &[edit("exclude", &["b"])]);
        check(None, &["a"], Switch::On, &[edit("exclude", &[])]);
        check(
            Some(&["b"]),
            &[],
            Switch::On,
            &[edit("include", &["b", "a"])],
        );
        check(
            Some(&["a", "b"]),
            &[],
            Switch::Off,
            &[edit("include", &["b"])],
        );
        check(Some(&["b"]), &[], Switch::Off, &[]);
        let last = Filter {
            include: Some(names(&["a"])),
            ..Filter::default()
        };
        assert!(
            switched(&last, "a", Switch::Off)
                .unwrap_err()
                .contains("last")
        );
    }

    #[test]
    fn choosing_all_none_and_some() {
        let all = names(&["a", "b", "c"]);
        let check = |wanted: &[usize], include: &[&str], exclude: &[&str]| {
            let expected = vec![edit("include", include), edit("exclude", exclude)];
            assert_eq!(chosen(&all, wanted), expected);
        };
        check(&[0, 1, 2], &[], &[]);
        check(&[0, 2], &["a", "c"], &[]);
        check(&[], &[], &["a", "b", "c"]);
    }

    #[test]
    fn numbers_and_spans() {
        assert_eq!(places("1 3-5,7", 9).unwrap(), [0, 2, 3, 4, 6]);
        assert_eq!(places(" 2, 2 1 ", 9).unwrap(), [0, 1]);
        assert!(places("", 9).unwrap().is_empty());
        for bad in ["0", "10", "x", "3-", "5-3", "1-10", "-1"] {
            assert!(places(bad, 9).unwrap_err().contains("1 to 9"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_stays_within_bounds(text in ".{0,40}", count in 0usize..50) {
            if let Ok(places) = places(&text, count) {
                prop_assert!(places.iter().all(|place| *place < count));
            }
        }
    }
}
