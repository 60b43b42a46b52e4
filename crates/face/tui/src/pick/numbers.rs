//! Numbers a person types after a numbered list: `1 3-5`.

/// Places from 0, in order and each once; an error says what is wrong.
pub(super) fn places(typed: &str, count: usize) -> Result<Vec<usize>, String> {
    let mut places = Vec::new();
    let words = typed.split([' ', ',']).filter(|word| !word.is_empty());
    for word in words {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (place(first, count)?, place(last, count)?);
        places.extend(first.min(last)..=first.max(last));
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// One place from 0.
pub(super) fn place(typed: &str, count: usize) -> Result<usize, String> {
    let number = typed.trim().parse::<usize>().ok();
    number
        .filter(|number| (1..=count).contains(number))
        .map(|number| number - 1)
        .ok_or_else(|| format!("'{}' is not a number from 1 to {count}", typed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        assert_eq!(places("1 3-5,3", 6), Ok(vec![0, 2, 3, 4]));
        assert_eq!(places("5-4", 6), Ok(vec![3, 4]));
        assert_eq!(places("", 6), Ok(vec![]));
        assert!(places("7", 6).is_err());
        assert!(places("x", 6).unwrap_err().contains("'x'"));
    }
}
