//! Which file of a room needs which other one: by a `use`, by a path in its code, through what
//! another file's `pub use` leads to, and by methods that another file gives to a type.

use std::collections::{BTreeMap, BTreeSet};

/// Which file needs which, by the names of their modules.
pub type Needs = BTreeMap<String, BTreeSet<String>>;

/// How many `pub use` in a row are followed.
const REEXPORTS_MAX: usize = 6;

/// What one `use` names.
struct Used {
    is_public: bool,
    path: String,
    /// The name that it has in the file.
    name: String,
}

struct Room<'a> {
    name: &'a str,
    known: BTreeSet<&'a str>,
    uses: BTreeMap<&'a str, Vec<Used>>,
}

/// Which file of a room needs which, but for the files above it in the same folders. A room that is
/// a crate has no name.
pub fn imports(room: &str, files: &[(String, String)]) -> Needs {
    let room = Room {
        name: room,
        known: files.iter().map(|(name, _)| name.as_str()).collect(),
        uses: files
            .iter()
            .map(|(name, code)| (name.as_str(), uses(code)))
            .collect(),
    };
    let mut needs = Needs::new();
    for (name, code) in files {
        let mut found = BTreeSet::new();
        for used in &room.uses[name.as_str()] {
            room.follow(name, &used.path, 0, &mut found);
        }
        for path in inline_paths(code) {
            room.follow(name, &path, 0, &mut found);
        }
        found.extend(lent_methods(name, code, files));
        found.retain(|other| {
            let is_above = name.starts_with(&format!("{other}::"));
            !other.is_empty() && other != name && !is_above
        });
        needs.insert(name.clone(), found);
    }
    needs
}

/// Which file calls a method that another one gives to the type `of`, or to one of its groups, which
/// are fields of it: on itself, on such a field, on what it is lent under the field's name, or, where
/// it gives them none, on a `daemon`. What a continuation calls on its `daemon` does not count: it is
/// the loop that calls a continuation, behind the flow that left it.
pub fn calls(of: &str, groups: &[(&str, &str)], files: &[(String, String)]) -> Needs {
    let is_of = |it: &str| it == of || groups.iter().any(|(group, _)| *group == it);
    let methods: Vec<(&String, BTreeSet<&str>)> = files
        .iter()
        .map(|(name, code)| {
            let of_type = impls(code).into_iter().filter(|(of_it, _)| is_of(of_it));
            (
                name,
                of_type.flat_map(|(_, body)| functions(body)).collect(),
            )
        })
        .collect();
    let mut needs = Needs::new();
    for (name, code) in files {
        let is_flow = impls(code).into_iter().any(|(of_it, _)| is_of(of_it));
        let receiver = if is_flow { "self" } else { "daemon" };
        let is_of_the_loop = |on: &str| match on.rsplit_once(['.', ' ', '(', '\n']) {
            Some((before, field)) if groups.iter().any(|(_, group)| *group == field) => {
                let holder = on[..before.len() + 1].trim_end().strip_suffix('.');
                holder.is_none_or(|holder| holder.trim_end().ends_with(receiver))
            }
            _ => on.ends_with(receiver),
        };
        let of_the_loop = called(code).filter(|(on, _)| is_of_the_loop(on));
        let called: BTreeSet<&str> = of_the_loop.map(|(_, name)| name).collect();
        let others = methods
            .iter()
            .filter(|(other, has)| *other != name && has.iter().any(|it| called.contains(it)))
            .map(|(other, _)| (*other).clone())
            .filter(|other| !other.is_empty() && !name.starts_with(&format!("{other}::")));
        needs.insert(name.clone(), others.collect());
    }
    needs
}

/// Files that reach each other, where they are more than two.
pub fn large_cycles(needs: &Needs) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = needs.get(from).into_iter().flatten().collect();
        while let Some(name) = next.pop() {
            if reached.insert(name) {
                next.extend(needs.get(name).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        needs.keys().map(|name| (name, reach(name))).collect();
    let mut cycles = BTreeSet::new();
    for (name, of) in &reached {
        let together: Vec<String> = of
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(name)))
            .map(|other| (*other).clone())
            .collect();
        if together.len() > 2 {
            cycles.insert(together);
        }
    }
    cycles.into_iter().collect()
}

impl Room<'_> {
    /// The file of a path as `name` writes it, and those that its `pub use` leads to.
    fn follow(&self, name: &str, path: &str, depth: usize, found: &mut BTreeSet<String>) {
        let Some((file, rest)) = self.locate(name, path) else {
            return;
        };
        let uses = self.uses.get(file.as_str()).into_iter().flatten();
        let onward: Vec<&Used> = uses
            .filter(|used| used.is_public && rest.as_deref() == Some(&used.name))
            .collect();
        found.insert(file.clone());
        if depth < REEXPORTS_MAX {
            for used in onward {
                self.follow(&file, &used.path, depth + 1, found);
            }
        }
    }

    /// The file of a path, and what is taken from it.
    fn locate(&self, name: &str, path: &str) -> Option<(String, Option<String>)> {
        let mut at: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        let mut parts = path.split("::").peekable();
        match parts.peek()? {
            &"crate" => {
                at.clear();
                parts.next();
                if !self.name.is_empty() && parts.next() != Some(self.name) {
                    return None;
                }
            }
            &"self" => drop(parts.next()),
            &"super" => {
                while parts.next_if_eq(&"super").is_some() {
                    at.pop();
                }
            }
            child => {
                at.push(child);
                if !self.known.contains(at.join("::").as_str()) {
                    return None;
                }
                at.pop();
            }
        }
        at.extend(parts);
        // What follows the module's name is what is taken from it.
        let mut taken = None;
        while !at.is_empty() && !self.known.contains(at.join("::").as_str()) {
            taken = at.pop();
        }
        Some((at.join("::"), taken.map(str::to_owned)))
    }
}

fn uses(code: &str) -> Vec<Used> {
    let mut found = Vec::new();
    for (before, statement) in statements(code) {
        let statement = statement.replace(" as ", "@");
        let statement: String = statement.split_whitespace().collect();
        for path in paths(&statement) {
            let (path, name) = match path.split_once('@') {
                Some((path, name)) => (path.to_owned(), name.to_owned()),
                None => {
                    let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                    (path, name)
                }
            };
            found.push(Used {
                is_public: before.starts_with("pub"),
                path,
                name,
            });
        }
    }
    found
}

/// The `use` statements, each with what stands before it in its line.
fn statements(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_statement = before.is_empty() || before.starts_with("pub");
        if let Some((statement, _)) = code[at + word.len()..].split_once(';')
            && is_statement
        {
            found.push((before, statement));
        }
    }
    found
}

/// The single paths of `a::{b, c::{d, e}}`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    inside
        .split(|letter| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            depth == 0 && letter == ','
        })
        .filter(|part| !part.is_empty())
        .flat_map(paths)
        .map(|path| format!("{before}{path}"))
        .collect()
}

/// Paths of at least two parts that stand anywhere in the code.
fn inline_paths(code: &str) -> BTreeSet<String> {
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
        .map(|word| word.trim_matches(':'))
        .filter(|word| word.contains("::"))
        .map(str::to_owned)
        .collect()
}

/// The blocks that give methods to a type, by its name.
pub fn impls(code: &str) -> Vec<(&str, &str)> {
    let mut blocks = code.split("\nimpl");
    let first = blocks.next().and_then(|block| block.strip_prefix("impl"));
    first
        .into_iter()
        .chain(blocks)
        .filter_map(|block| {
            let (head, _) = block.split_once('{')?;
            // A trait's methods are the trait's.
            let of = head.rsplit(' ').find(|word| !word.is_empty())?;
            let is_inherent = !head.contains(" for ");
            let (body, _) = block.split_once("\n}")?;
            is_inherent.then_some((of.split('<').next()?, body))
        })
        .collect()
}

fn functions(code: &str) -> impl Iterator<Item = &str> {
    code.split("fn ").skip(1).filter_map(word)
}

/// The methods of such a block that other files can call, with what each returns.
pub fn methods(body: &str) -> Vec<(&str, &str)> {
    let signatures = body.split("\n    pub").skip(1).filter_map(|rest| {
        let (visibility, rest) = rest.split_once("fn ")?;
        let is_method = !visibility.contains(['{', ';', '=']);
        let (signature, _) = rest.split_once(['{', ';'])?;
        is_method.then_some(signature)
    });
    let methods = signatures.filter_map(|signature| {
        let (signature, _) = signature
            .split_once("\n    where")
            .unwrap_or((signature, ""));
        let (_, behind) = signature.rsplit_once(") ->").unwrap_or_default();
        // It is what a closure returns that stands among the arguments.
        let is_argument = behind.matches(')').count() > behind.matches('(').count();
        let returned = if is_argument { "" } else { behind.trim() };
        Some((word(signature)?, returned))
    });
    methods.collect()
}

/// The methods that are called, with what stands before the dot.
fn called(code: &str) -> impl Iterator<Item = (&str, &str)> {
    code.match_indices('.').filter_map(|(dot, _)| {
        let name = word(&code[dot + 1..])?;
        let is_call = code[dot + 1 + name.len()..].starts_with('(');
        is_call.then(|| (code[..dot].trim_end(), name))
    })
}

fn word(code: &str) -> Option<&str> {
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()
        .filter(|word| !word.is_empty())
}

/// The daemon's loop and its groups: who calls what they have is told by [`calls`], which looks at
/// what a method is called on.
const OF_THE_LOOP: [&str; 5] = ["Daemon", "Base", "Deliveries", "Agents", "Decisions"];

/// Files of the same folder that give a method which `code` calls to a type of another file. Only
/// there: elsewhere a method of that name is most likely somebody else's.
fn lent_methods(name: &str, code: &str, files: &[(String, String)]) -> Vec<String> {
    let Some((folder, _)) = name.rsplit_once("::") else {
        return Vec::new();
    };
    let called: BTreeSet<&str> = called(code).map(|(_, name)| name).collect();
    files
        .iter()
        .filter(|(other, _)| other.rsplit_once("::").map(|(of, _)| of) == Some(folder))
        .filter(|(other, code)| {
            other != name
                && impls(code)
                    .into_iter()
                    .filter(|(of, _)| !OF_THE_LOOP.contains(of) && !declares(code, of))
                    .any(|(_, body)| functions(body).any(|it| called.contains(it)))
        })
        .map(|(other, _)| other.clone())
        .collect()
}

fn declares(code: &str, type_name: &str) -> bool {
    ["struct", "enum"].iter().any(|kind| {
        code.split(&format!("{kind} {type_name}"))
            .skip(1)
            .any(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
    })
}

fn room(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let file = |(name, code): &(&str, &str)| ((*name).to_owned(), (*code).to_owned());
    files.iter().map(file).collect()
}

#[test]
fn a_cycle_of_three_files_is_found_and_a_pair_is_none() {
    let files = room(&[
        ("", "mod a;\nmod pair;"),
        ("a", "mod child;\nuse super::b::{B, C};"),
        ("a::child", "use super::A;\nuse crate::core::id::Seq;"),
        ("b", "use crate::room::c::inner::C;"),
        ("c", "use super::\n    a::A;"),
        ("pair", "use super::other::Other;"),
        ("other", "use super::pair::Pair;\nuse super::a::A;"),
    ]);
    let cycles = large_cycles(&imports("room", &files));
    assert_eq!(cycles, [["a", "b", "c"]]);
}

#[test]
fn a_cycle_is_found_by_paths_in_the_code_and_by_what_is_passed_on() {
    let files = room(&[
        ("a", "fn a() { super::b::go() }"),
        ("b", "fn b(c: &crate::room::c::C) {}"),
        (
            "c",
            "mod inner;\npub(super) use self::inner::Deep as D;\npub struct C;",
        ),
        ("c::inner", "pub struct Deep(pub Vec<crate::room::a::A>);"),
        ("of_c", "use super::c::D;"),
        ("d", "fn d() { self::e::go() }"),
        ("d::e", "use super::D;\nfn e() { super::super::f::go() }"),
        ("f", "use super::d::D;"),
    ]);
    let imports = imports("room", &files);
    let of = |name: &str| imports[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("b"), ["c"]);
    assert_eq!(of("of_c"), ["c", "c::inner"]);
    assert_eq!(of("d::e"), ["f"]);
    let cycles = large_cycles(&imports);
    assert_eq!(
        cycles,
        [vec!["a", "b", "c", "c::inner"], vec!["d", "d::e", "f"]]
    );
}

#[test]
fn a_cycle_is_found_by_methods_that_a_file_gives_to_the_type_of_another() {
    let files = room(&[
        ("", ""),
        (
            "s::a",
            "struct A;\nimpl A {\n    fn go(self) { self.open().run() }\n}\n",
        ),
        (
            "s::b",
            "use super::a::A;\nstruct B;\nimpl A {\n    fn open(self) -> B { B }\n}\n",
        ),
        (
            "s::c",
            "use super::b::B;\nuse super::a::A;\nimpl B {\n    fn run(self) {}\n}\n",
        ),
    ]);
    let cycles = large_cycles(&imports("room", &files));
    assert_eq!(cycles, [["s::a", "s::b", "s::c"]]);
    let files = room(&[
        (
            "d",
            "struct Daemon;\nimpl Daemon {\n    fn on(&mut self) { self.one() }\n}\n",
        ),
        (
            "one",
            "impl Daemon {\n    fn one(&mut self) { self.two() }\n}\n",
        ),
        (
            "two",
            "impl Daemon {\n    fn two(&mut self) { self.on(); self.pair() }\n}\n",
        ),
        ("pair", "impl Daemon {\n    fn pair(&self) {}\n}\n"),
    ]);
    assert_eq!(
        large_cycles(&calls("Daemon", &[], &files)),
        [["d", "one", "two"]]
    );
    let files = room(&[
        (
            "d",
            "impl Daemon {\n    fn on(&mut self) { self.base\n        .one(1) }\n}\n",
        ),
        (
            "one",
            "impl Base {\n    fn one(&mut self) { Box::new(|daemon| daemon.base.later()) }\n}\n",
        ),
        (
            "two",
            "impl Agents {\n    fn two(&mut self, base: &mut Base) { (base.one(), 1) }\n}\n",
        ),
        ("later", "impl Base {\n    fn later(&self) {}\n}\n"),
    ]);
    let calls = calls("Daemon", &[("Base", "base"), ("Agents", "agents")], &files);
    let of = |name: &str| calls[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!([of("d"), of("two")], [["one"], ["one"]]);
    assert_eq!(of("one"), <[&str; 0]>::default());
}

#[test]
fn what_a_method_returns_is_told_from_what_its_closures_do() {
    let body = "
    pub fn none(&mut self) {}

    #[must_use]
    pub(in crate::daemon) fn inner(&mut self) -> Option<&mut Inner> {
        self.own(|it: fn() -> u8| it());
    }

    pub fn lent<R>(&mut self, does: impl FnOnce(&mut Inner) -> R) -> R {}

    pub fn told(
        &mut self,
        says: impl Fn(u8) -> bool,
        more: &mut Vec<u8>,
    ) {}

    fn own(&mut self) -> &mut Inner {}";
    let told = [
        ("none", ""),
        ("inner", "Option<&mut Inner>"),
        ("lent", "R"),
        ("told", ""),
    ];
    assert_eq!(methods(body), told);
}
