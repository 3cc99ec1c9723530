//! How much work a schema can be, reckoned before any of it is done. The main type is [`Plan`].
//!
//! A plan knows of each subschema which others it applies to the *same* value and which to the value's parts. With it the
//! steps of a validation are counted in one walk over the value, during which each pair of a subschema and a part of the
//! value is looked at once, with the number of times that it would be reached. So counting is never more work than what
//! it counts, and it stops at the budget.

use super::limits::{
    MAX_APPLIED_LEVEL, MAX_EXPANSION, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_REFERENCES, MAX_STEPS,
    MAX_UNEVALUATED_EXPANSION, STEPS_OF_PATTERN,
};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, HashMap};

/// Keywords that apply a subschema, a list of them or a map of them to the same value.
const SAME_VALUE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// The subschemas of a document, those that apply others to the same value before those others.
#[derive(Debug)]
pub struct Plan {
    nodes: Vec<Node>,
    root: usize,
    /// Patterns in the document.
    patterns: u64,
}

/// One subschema. Numbers lead to other nodes; subschemas without any work are left out.
#[derive(Debug, Default)]
struct Node {
    /// Steps of the subschema's own keywords.
    steps: u64,
    /// Steps with all that it applies to the same value, patterns left aside.
    weight: u64,
    same_value: Vec<usize>,
    properties: BTreeMap<String, usize>,
    other_members: Vec<usize>,
    names: Vec<usize>,
    prefix: Vec<usize>,
    items: Vec<usize>,
    pattern: bool,
    name_patterns: u64,
    unique: bool,
    unevaluated: bool,
}

impl Plan {
    /// Makes the plan of a document, or says why there can be none.
    pub fn make(document: &Json) -> Result<Plan, &'static str> {
        let mut reader = Reader::new(document)?;
        let root = reader.node(document);
        while reader.nodes.len() < reader.schemas.len() {
            let node = reader.read(reader.schemas[reader.nodes.len()])?;
            reader.nodes.push(node);
        }
        let (nodes, root) = in_order(reader.nodes, root)?;
        Ok(Plan { nodes: weighed(nodes)?, root, patterns: reader.patterns as u64 })
    }

    /// Whether validating a value stays within the budget.
    pub fn fits(&self, value: &Json) -> bool {
        let mut left = MAX_STEPS;
        self.count(value, BTreeMap::from([(self.root, 1)]), &mut left).is_some()
    }

    /// Takes the steps for a value, to which the nodes in `open` apply so many times, from what is left.
    fn count(&self, value: &Json, mut open: BTreeMap<usize, u64>, left: &mut u64) -> Option<()> {
        let parts = match value {
            Json::Array(items) => items.len() as u64,
            Json::Object(members) => members.len() as u64,
            _ => 0,
        };
        let mut applied: Vec<(&Node, u64)> = Vec::new();
        // Those that apply others come before them, so that a node's number is complete when it is met.
        while let Some((place, times)) = open.pop_first() {
            let node = &self.nodes[place];
            take(left, times.saturating_mul(self.own_steps(node, value)))?;
            // Which parts are unevaluated is asked of each subschema again, at worst for each part.
            let times_below = if node.unevaluated { times.saturating_mul(parts + 2) } else { times };
            for below in &node.same_value {
                add(&mut open, *below, times_below);
            }
            applied.push((node, times));
        }
        match value {
            Json::Array(items) => {
                let mut for_each = BTreeMap::new();
                for (node, times) in &applied {
                    node.items.iter().for_each(|schema| add(&mut for_each, *schema, *times));
                }
                for (n, item) in items.iter().enumerate() {
                    let mut open = for_each.clone();
                    for (node, times) in applied.iter().filter(|(node, _)| n < node.prefix.len()) {
                        add(&mut open, node.prefix[n], *times);
                    }
                    if !open.is_empty() {
                        self.count(item, open, left)?;
                    }
                }
            }
            Json::Object(members) => {
                for (name, member) in members {
                    let mut open = BTreeMap::new();
                    for (node, times) in &applied {
                        match node.properties.get(name) {
                            Some(schema) => add(&mut open, *schema, *times),
                            // Whether it matches a pattern is not asked here: then it would be fewer.
                            None => node.other_members.iter().for_each(|schema| add(&mut open, *schema, *times)),
                        }
                    }
                    if !open.is_empty() {
                        self.count(member, open, left)?;
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    fn own_steps(&self, node: &Node, value: &Json) -> u64 {
        let more = match value {
            Json::String(text) if node.pattern => text.len() as u64 * STEPS_OF_PATTERN,
            Json::String(text) => text.len() as u64 / 64,
            Json::Array(_) if node.unique => 16 * size(value),
            Json::Object(members) => {
                let names = members.keys().map(|name| name.len() as u64 + 1).sum::<u64>();
                let for_names: u64 = node.names.iter().map(|schema| self.nodes[*schema].weight).sum();
                let patterns = if node.names.is_empty() { node.name_patterns } else { self.patterns };
                let of_names = (members.len() as u64).saturating_mul(for_names);
                of_names.saturating_add(names * STEPS_OF_PATTERN * patterns).saturating_add(members.len() as u64)
            }
            _ => 0,
        };
        node.steps.saturating_add(more)
    }
}

fn take(left: &mut u64, steps: u64) -> Option<()> {
    *left = left.checked_sub(steps)?;
    Some(())
}

fn add(open: &mut BTreeMap<usize, u64>, place: usize, times: u64) {
    let entry = open.entry(place).or_default();
    *entry = entry.saturating_add(times);
}

fn size(json: &Json) -> u64 {
    1 + match json {
        Json::Array(items) => items.iter().map(size).sum::<u64>(),
        Json::Object(members) => members.values().map(size).sum::<u64>(),
        _ => 0,
    }
}

/// Finds the subschemas of a document.
struct Reader<'d> {
    document: &'d Json,
    anchors: HashMap<&'d str, &'d Json>,
    places: HashMap<*const Json, usize>,
    /// Every subschema that was reached, in the order of `nodes`.
    schemas: Vec<&'d Json>,
    nodes: Vec<Node>,
    references: usize,
    patterns: usize,
}

impl<'d> Reader<'d> {
    fn new(document: &'d Json) -> Result<Reader<'d>, &'static str> {
        let mut anchors = HashMap::new();
        let mut open = vec![document];
        while let Some(schema) = open.pop() {
            let Json::Object(members) = schema else { continue };
            for name in ["$anchor", "$dynamicAnchor"] {
                if let Some(Json::String(anchor)) = members.get(name)
                    && anchors.insert(anchor.as_str(), schema).is_some_and(|other| !std::ptr::eq(other, schema))
                {
                    return Err("two of its parts have one name");
                }
            }
            open.extend(subschemas(members).map(|(_, schema)| schema));
        }
        Ok(Reader {
            document,
            anchors,
            places: HashMap::new(),
            schemas: Vec::new(),
            nodes: Vec::new(),
            references: 0,
            patterns: 0,
        })
    }

    /// The number of a subschema.
    fn node(&mut self, schema: &'d Json) -> usize {
        let next = self.schemas.len();
        let place = *self.places.entry(std::ptr::from_ref(schema)).or_insert(next);
        if place == next {
            self.schemas.push(schema);
        }
        place
    }

    fn read(&mut self, schema: &'d Json) -> Result<Node, &'static str> {
        let mut node = Node { steps: 1, ..Node::default() };
        let Json::Object(members) = schema else { return Ok(node) };
        if !std::ptr::eq(schema, self.document) && (members.contains_key("$id") || members.contains_key("$schema")) {
            return Err("it holds another document");
        }
        for name in ["$ref", "$dynamicRef"] {
            if let Some(reference) = members.get(name) {
                let target = self.resolve(reference).ok_or("a reference leads out of it")?;
                self.references += 1;
                node.same_value.push(self.node(target));
            }
        }
        for (keyword, schema) in subschemas(members) {
            // `true` and `{}` cost nothing, and most results are full of what they apply to. A prefix keeps its places.
            let free = matches!(schema, Json::Bool(_)) || schema.as_object().is_some_and(Map::is_empty);
            if free && !matches!(keyword, Keyword::Prefix) {
                node.steps += 1;
                continue;
            }
            let place = self.node(schema);
            match keyword {
                Keyword::Same => node.same_value.push(place),
                Keyword::Property(name) => drop(node.properties.insert(name.to_owned(), place)),
                Keyword::OtherMembers => node.other_members.push(place),
                Keyword::Names => node.names.push(place),
                Keyword::Prefix => node.prefix.push(place),
                Keyword::Items => node.items.push(place),
                Keyword::Kept => {}
            }
        }
        node.unevaluated = members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems");
        node.unique = members.get("uniqueItems") == Some(&Json::Bool(true));
        for name in ["enum", "const", "required", "dependentRequired"] {
            node.steps += members.get(name).map_or(0, size);
        }
        let of_names = members.get("patternProperties").and_then(Json::as_object).into_iter().flat_map(Map::keys);
        let patterns: Vec<&String> = of_names.collect();
        node.name_patterns = patterns.len() as u64;
        let pattern = members.get("pattern").and_then(Json::as_str);
        node.pattern = pattern.is_some();
        self.patterns += patterns.len() + usize::from(node.pattern);
        let long = |pattern: &str| pattern.len() > MAX_PATTERN_BYTES;
        if self.patterns > MAX_PATTERNS || pattern.is_some_and(long) || patterns.iter().any(|pattern| long(pattern)) {
            return Err("its patterns are too many or too long");
        }
        if self.references > MAX_REFERENCES {
            return Err("it has too many references");
        }
        Ok(node)
    }

    /// §3.2: a reference is a fragment, and leads to a place in the same document.
    fn resolve(&self, reference: &Json) -> Option<&'d Json> {
        let fragment = percent_decoded(reference.as_str()?.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.document.pointer(&fragment)
        } else {
            self.anchors.get(fragment.as_str()).copied()
        }
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2).filter(|hex| !hex.starts_with('+'))?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// What a subschema is applied to.
enum Keyword<'d> {
    Same,
    Property(&'d str),
    OtherMembers,
    Names,
    Prefix,
    Items,
    /// To nothing, unless something refers to it.
    Kept,
}

/// Every subschema right below, with what it is applied to.
fn subschemas(members: &Map<String, Json>) -> impl Iterator<Item = (Keyword<'_>, &Json)> {
    members.iter().flat_map(|(name, value)| {
        let one = |keyword| vec![(keyword, value)];
        let each = |keyword: fn(&str) -> Keyword<'_>| match value {
            Json::Array(list) => list.iter().map(|schema| (keyword(""), schema)).collect(),
            Json::Object(map) => map.iter().map(|(name, schema)| (keyword(name), schema)).collect(),
            _ => Vec::new(),
        };
        match name.as_str() {
            "not" | "if" | "then" | "else" => one(Keyword::Same),
            same if SAME_VALUE.contains(&same) => each(|_| Keyword::Same),
            "properties" => each(|name| Keyword::Property(name)),
            "patternProperties" => each(|_| Keyword::OtherMembers),
            "additionalProperties" | "unevaluatedProperties" => one(Keyword::OtherMembers),
            "propertyNames" => one(Keyword::Names),
            "prefixItems" => each(|_| Keyword::Prefix),
            "items" | "contains" | "unevaluatedItems" => one(Keyword::Items),
            "$defs" | "definitions" => each(|_| Keyword::Kept),
            "contentSchema" => one(Keyword::Kept),
            _ => Vec::new(),
        }
    })
}

/// Puts the nodes into an order in which those that apply others to the same value come before those others.
fn in_order(nodes: Vec<Node>, root: usize) -> Result<(Vec<Node>, usize), &'static str> {
    let mut waiting: Vec<usize> = vec![0; nodes.len()];
    nodes.iter().flat_map(|node| &node.same_value).for_each(|below| waiting[*below] += 1);
    let mut order: Vec<usize> = (0..nodes.len()).filter(|place| waiting[*place] == 0).collect();
    let mut done = 0;
    while done < order.len() {
        for below in &nodes[order[done]].same_value {
            waiting[*below] -= 1;
            if waiting[*below] == 0 {
                order.push(*below);
            }
        }
        done += 1;
    }
    if order.len() < nodes.len() {
        return Err("it refers to itself for the same value");
    }
    let mut rank = vec![0; nodes.len()];
    order.iter().enumerate().for_each(|(to, from)| rank[*from] = to);
    let renumber = |list: &mut Vec<usize>| list.iter_mut().for_each(|place| *place = rank[*place]);
    let mut ordered: Vec<(usize, Node)> =
        nodes.into_iter().enumerate().map(|(from, node)| (rank[from], node)).collect();
    ordered.sort_by_key(|(place, _)| *place);
    let mut nodes: Vec<Node> = ordered.into_iter().map(|(_, node)| node).collect();
    for node in &mut nodes {
        let lists = [&mut node.same_value, &mut node.other_members, &mut node.names, &mut node.prefix, &mut node.items];
        lists.into_iter().for_each(renumber);
        node.properties.values_mut().for_each(|place| *place = rank[*place]);
    }
    Ok((nodes, rank[root]))
}

/// Reckons what each node is with all that it applies to the same value.
fn weighed(mut nodes: Vec<Node>) -> Result<Vec<Node>, &'static str> {
    /// Of one node: how many nodes, how deep, and whether one asks what is unevaluated.
    #[derive(Clone, Default)]
    struct Whole {
        count: u64,
        level: usize,
        unevaluated: bool,
    }
    let mut wholes = vec![Whole::default(); nodes.len()];
    for place in (0..nodes.len()).rev() {
        let node = &nodes[place];
        let mut whole = Whole { count: 1, level: 1, unevaluated: node.unevaluated };
        let mut weight = node.steps;
        for below in &node.same_value {
            let inner = &wholes[*below];
            whole.count = whole.count.saturating_add(inner.count);
            whole.level = whole.level.max(inner.level + 1);
            whole.unevaluated |= inner.unevaluated;
            weight = weight.saturating_add(nodes[*below].weight);
            if node.unevaluated && inner.unevaluated {
                return Err("it multiplies itself");
            }
        }
        let most = if node.unevaluated { MAX_UNEVALUATED_EXPANSION } else { MAX_EXPANSION };
        if whole.count > most || whole.level > MAX_APPLIED_LEVEL {
            return Err("it multiplies itself");
        }
        nodes[place].weight = weight;
        wholes[place] = whole;
    }
    Ok(nodes)
}
