use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::look::{Depth, Skin};
use crate::text::width;

mod hard;

/// There is one thread for colours in a process.
static COLOURS: Mutex<()> = Mutex::new(());

fn text(rows: &[Row]) -> String {
    let lines: Vec<_> = rows.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn rendered(source: &str, columns: u16) -> String {
    let rows = rows(source, Style::Render, columns, &Look::plain());
    for row in &rows {
        let wide = width(&row.to_string());
        assert!(wide <= usize::from(columns), "{row} is {wide} wide");
    }
    text(&rows)
}

const EVERYTHING: &str = "\
# Title

Some **bold**, *leaning*, ~~gone~~ and `code`; a [link](https://example.com/x) and <https://example.com>.

Items:
- one
  - deep *down*
    with more
- two

  a paragraph
1. first
1. second

   ```python
   def f(x):
       return x
   ```

- [ ] open
- [x] done

> quoted **words** that are long enough to wrap somewhere
>
> > deeper

---

```rust
fn main() {
    println!(\"hi\");
}
```

| name | 漢字 |
|:-----|-----:|
| 一二三 | 1 |
| a | 22 |

<div>html</div>
";

#[test]
fn everything_at_80() {
    insta::assert_snapshot!(rendered(EVERYTHING, 80));
}

#[test]
fn everything_at_40() {
    insta::assert_snapshot!(rendered(EVERYTHING, 40));
}

#[test]
fn everything_at_10() {
    insta::assert_snapshot!(rendered(EVERYTHING, 10));
}

#[test]
fn stripped_text_keeps_its_code() {
    let rows = rows(EVERYTHING, Style::Strip, 80, &Look::plain());
    insta::assert_snapshot!(text(&rows));
}

#[test]
fn raw_text_is_as_it_came() {
    let rows = rows("# a **b**\n\n```\n  x\n", Style::Raw, 80, &Look::plain());
    assert_eq!(text(&rows), "# a **b**\n\n```\n  x");
}

// spec: cli-tui §20.20
#[test]
fn code_tables_and_lists_as_the_owner_sees_them() {
    let source = "**Look:**\n\n```python\ndef f():\n    return 1\n```\n\n| key | 漢字 |\n|---|---|\n\
                  | 漢字漢字 | a |\n| b | 字 |\n\n- one\n  - two\n    - three\n";
    let shown = rendered(source, 80);
    assert!(shown.contains("def f():\n    return 1\n"), "{shown}");
    assert!(!shown.contains("**"), "{shown}");
    assert!(shown.contains("• one\n  • two\n    • three"), "{shown}");
    let bar = |line: &str| width(line.split(['│', '┼']).next().unwrap_or_default());
    let table: Vec<_> = shown
        .lines()
        .filter(|line| line.contains(['│', '┼']))
        .collect();
    assert_eq!(table.len(), 4, "{shown}");
    assert!(
        table.iter().all(|line| bar(line) == bar(table[0])),
        "{shown}"
    );
}

#[test]
fn tables_give_way() {
    let source = "| name | what it is |\n|---|---|\n| alpha | a rather long description of it |\n\
                  | beta | short |\n";
    insta::assert_snapshot!(rendered(source, 60), @r"
    name  │ what it is
    ──────┼────────────────────────────────
    alpha │ a rather long description of it
    beta  │ short
    ");
    insta::assert_snapshot!(rendered(source, 24), @r"
    name  │ what it is
    ──────┼─────────────────
    alpha │ a rather long
          │ description of
          │ it
    ──────┼─────────────────
    beta  │ short
    ");
    insta::assert_snapshot!(rendered(source, 11), @r"
    name: alpha
    what it is:
      a rather
      long
      descripti
      on of it
    ────────
    name: beta
    what it is:
      short
    ");
}

#[test]
fn nothing_in_a_text_drives_the_terminal() {
    let shown = rendered(
        "a\x1b[2Jb `c\x07d`\n\n```x\x1by\n\x1b]0;t\x07\n```\n\n<b\x1b>\n",
        40,
    );
    let bad = |c: char| c.is_control() && c != '\n';
    assert!(!shown.contains(bad), "{shown:?}");
}

#[test]
fn deep_nesting_ends_somewhere() {
    let quotes = format!("{} deep\n", ">".repeat(20_000));
    assert!(rendered(&quotes, 40).contains("deep"));
    let lists: String = (0..200)
        .map(|n| format!("{}- x\n", "  ".repeat(n)))
        .collect();
    assert!(!rendered(&lists, 20).is_empty());
}

#[test]
fn code_is_coloured_once_the_grammars_are_there() {
    let look = Look::new(Skin::default(), Depth::True);
    let _alone = COLOURS.lock().unwrap_or_else(PoisonError::into_inner);
    Highlighter::load();
    assert!(Highlighter::ready().is_some());
    let colours = |source: &str| {
        let rows = rows(source, Style::Render, 80, &look);
        let spans = rows.iter().flat_map(|row| &row.spans);
        spans.filter_map(|span| span.style.fg).count()
    };
    let short = "```rust\nfn main() { let x = \"a\"; }\n```\n";
    let lines = "```rust\nfn a() {\n    1 /* x\n y */ }\n```\n";
    // Who meets a language first, or is not let to work, may be too early for its colours.
    let eventually = |what: &str, holds: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        }
    };
    eventually("colours", &|| colours(short) > 3 && colours(lines) > 3);
    eventually("the same line by line", &|| {
        let mut stream = Stream::new(Style::Render);
        stream.push(lines);
        stream.settle(80, &look) == rows(lines, Style::Render, 80, &look)
    });
    let long = format!("```rust\nfn main() {{ {} }}\n```\n", "x; ".repeat(1000));
    assert_eq!(colours(&long), 1, "the label only");
}

#[test]
fn a_line_its_grammar_cannot_end_costs_a_moment_and_its_colours() {
    let look = Look::new(Skin::default(), Depth::True);
    let _alone = COLOURS.lock().unwrap_or_else(PoisonError::into_inner);
    Highlighter::load();
    let source = format!("```makefile\n{}\n```\n", "!".repeat(600));
    let begun = Instant::now();
    for _ in 0..50 {
        let shown = text(&rows(&source, Style::Render, 700, &look));
        assert!(shown.contains(&"!".repeat(600)));
    }
    // One round with colours would take seconds.
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn what_is_complete_settles_and_the_rest_waits() {
    let look = Look::plain();
    let mut stream = Stream::new(Style::Render);
    let mut step = |delta: &str| {
        stream.push(delta);
        let settled = text(&stream.settle(40, &look));
        (settled, text(&stream.tail(40, &look)))
    };
    let mut check = |delta: &str, settled: &str, tail: &str| {
        assert_eq!(
            step(delta),
            (settled.to_owned(), tail.to_owned()),
            "{delta:?}"
        );
    };
    check("Hel", "", "Hel");
    check("lo\n", "", "Hello");
    check("\n", "Hello", "");
    check("- a\n", "", "\n• a");
    check("- b", "", "\n• a\n• b");
    check("\n- c\n", "\n• a\n• b", "• c");
    check("\n```py\nx = ", "• c\n\npy", "x = ");
    check("1\ny", "x = 1", "y");
    check("\n```\n|a|b|\n", "y", "\n|a|b|");
    check("|-|-|\n|1|2|\n", "", "\na │ b\n──┼──\n1 │ 2");
    check("\nend", "\na │ b\n──┼──\n1 │ 2", "\nend");
    assert_eq!(text(&stream.finish(40, &look)), "\nend");
}

/// How often every byte is parsed on average when a text comes in small pieces.
fn parsed(source: &str) -> u64 {
    let look = Look::plain();
    let mut stream = Stream::new(Style::Render);
    let mut shown = 0;
    let mut rest = source;
    while !rest.is_empty() {
        let end = (20..=rest.len()).find(|at| rest.is_char_boundary(*at));
        let (delta, more) = rest.split_at(end.unwrap_or(rest.len()));
        stream.push(delta);
        shown += stream.settle(80, &look).len();
        rest = more;
    }
    shown += stream.finish(80, &look).len();
    assert!(shown > source.len() / 80, "{shown} rows");
    stream.parsed() / source.len() as u64
}

#[test]
fn a_long_answer_costs_in_proportion_to_its_length() {
    let answer = EVERYTHING.repeat(400_000 / EVERYTHING.len());
    let times = parsed(&answer);
    assert!(times <= 4, "parsed {times} times");
}

#[test]
fn one_block_without_an_end_costs_in_proportion_to_its_length() {
    let check = |first: &str, line: &str| {
        let times = parsed(&format!("{first}{}", line.repeat(80_000 / line.len())));
        assert!(times <= 20, "parsed {times} times: {line:?}");
    };
    check("", "a line of a paragraph that never ends\n");
    check("", "1. an item of a list\n");
    check("", "- an item\n\n  with two paragraphs\n\n");
    check("```rust\n", "let x = 1;\n");
    check("| a | b |\n|---|---|\n", "| 1 | cell |\n");
    check("- ", "an item that never ends\n  ");
    check("<!--\n", "a comment\n");
}

/// Lines from which blocks of all kinds come about, also broken ones.
fn line() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "",
        "",
        "",
        " ",
        "# head",
        "## head *two*",
        "text **bold** and `code`",
        "more text",
        "漢字 and é",
        "- item",
        "- other",
        "  - nested",
        "    - deeper",
        "* star",
        "+ plus",
        "1. one",
        "2. two",
        "7) seven",
        "- [ ] task",
        "- [x] done",
        "  continued",
        "   1. inner",
        "> quote",
        ">",
        "> > deep",
        "> - in quote",
        "```rust",
        "```",
        "````",
        "~~~",
        "~~~ x",
        "  ```py",
        "    indented",
        "| a | b |",
        "|---|:-:|",
        "| 1 | 2 |",
        "---",
        "===",
        "***",
        "<div>",
        "</div>",
        "<!-- note",
        "-->",
        "<b>x</b>",
        "[early] link",
        "a  ",
        "\tTab",
        "\\",
        "- ",
        "1.",
        "-",
        "- ```",
        "  ```",
        "*open",
        "close*",
        "https://example.com/a_b_c",
        "> > - ```a_language_with_a_very_long_name",
        "> > - ~~~",
        "  - ```another_language_with_a_long_name",
        "> | wide table | in a quote |",
        "> |---|---|",
        "> | 漢字漢字漢字 | 1 |",
        ">   - nested in a quote",
        ">     more of it 漢字漢字漢字漢字漢字漢字漢字漢字",
        "1000000000. big",
        "    1234567890. code or item",
        "漢\tb\tc",
        "👩\u{200d}👩\u{200d}👧\u{200d}👦\u{200d}",
        "\u{feff}\u{200b}\u{ad}x\u{2028}y",
        "[l](https://example.com/漢 'title')",
        "![alt *text*](data:image/png;base64,AAAA)",
        "word_that_is_longer_than_most_screens_and_has_no_blank_in_it_at_all_really_none",
    ]);
    fixed.prop_map(str::to_owned)
}

/// Gives a text in pieces of these sizes, over and over.
fn streamed(source: &str, cuts: &[usize], style: Style, columns: u16) -> (Vec<Row>, Vec<Row>) {
    let look = Look::plain();
    let mut stream = Stream::new(style);
    let mut shown = Vec::new();
    let chars: Vec<char> = source.chars().collect();
    let mut rest = chars.as_slice();
    for cut in cuts.iter().cycle() {
        let (delta, more) = rest.split_at((*cut).min(rest.len()));
        stream.push(&delta.iter().collect::<String>());
        shown.extend(stream.settle(columns, &look));
        rest = more;
        if rest.is_empty() {
            break;
        }
    }
    let mut seen = shown.clone();
    seen.extend(stream.tail(columns, &look));
    shown.extend(stream.finish(columns, &look));
    (seen, shown)
}

fn pieces_make_the_whole(source: &str, cuts: &[usize], style: Style, columns: u16) {
    let whole = rows(source, style, columns, &Look::plain());
    let (seen, finished) = streamed(source, cuts, style, columns);
    assert_eq!(text(&seen), text(&whole), "on the screen: {source:?}");
    assert_eq!(text(&finished), text(&whole), "finished: {source:?}");
    for row in &whole {
        assert!(width(&row.to_string()) <= usize::from(columns), "{row}");
    }
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..25, 1..20)
}

fn styles() -> impl Strategy<Value = Style> {
    prop::sample::select(vec![Style::Render, Style::Strip, Style::Raw])
}

fn widths() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![1u16, 10, 24, 80])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn pieces_of_all_kinds_of_blocks_make_the_whole(
        lines in prop::collection::vec(line(), 0..40),
        cuts in cuts(), style in styles(), columns in widths(),
        end in prop::sample::select(vec!["", "\n"]),
    ) {
        let source = format!("[early]: https://example.com\n\n{}{end}", lines.join("\n"));
        pieces_make_the_whole(&source, &cuts, style, columns);
    }

    /// Without colons: a link used before it is defined is the exception.
    #[test]
    fn pieces_of_anything_make_the_whole(
        source in "[ \\n\t*_`~#>|+.!()<&;=a1漢é👍/\\[\\]\\\\-]{0,150}",
        cuts in cuts(), style in styles(), columns in widths(),
    ) {
        pieces_make_the_whole(&source, &cuts, style, columns);
    }
}
