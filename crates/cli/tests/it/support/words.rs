//! Arguments of a command, as a line or one by one.

pub(crate) trait Words {
    fn words(&self) -> Vec<String>;
}

/// A line as it is typed, where single quotes keep what is between them together.
impl Words for str {
    fn words(&self) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), None, false);
        for c in self.chars() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => words.extend(word.take()),
                c => word.get_or_insert_with(String::new).push(c),
            }
        }
        words.extend(word);
        words
    }
}

impl Words for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<T: AsRef<str>> Words for [T] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<T: AsRef<str>, const N: usize> Words for [T; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: AsRef<str>> Words for Vec<T> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}
