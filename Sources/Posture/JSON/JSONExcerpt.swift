extension JSONParser {
  /// How much of a document is kept: of an object some members, of an array as much of each element. All of it is checked
  /// alike.
  public struct Excerpt: Hashable, Sendable {
    struct Member: Hashable, Sendable {
      var name: String
      /// nil: the whole.
      var excerpt: Excerpt?
    }

    /// Members that are named nowhere are kept too.
    let keepsOthers: Bool
    let members: [Member]

    private init(_ members: KeyValuePairs<String, Excerpt?>, keepsOthers: Bool) {
      self.keepsOthers = keepsOthers
      self.members = members.map { Member(name: $0.key, excerpt: $0.value) }
    }

    func place(of name: String) -> Int? {
      for place in members.indices where members[place].name == name { return place }
      return nil
    }

    /// These members and no others; nil: the whole of one.
    public static func only(_ members: KeyValuePairs<String, Excerpt?>) -> Excerpt {
      Excerpt(members, keepsOthers: false)
    }

    /// Everything, but of these members only as much.
    public static func all(but members: KeyValuePairs<String, Excerpt?>) -> Excerpt {
      Excerpt(members, keepsOthers: true)
    }
  }
}
