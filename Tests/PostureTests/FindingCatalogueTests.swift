import Posture
import Testing

struct FindingCatalogueTests {
  @Test func `every code is once, has a meaning and an advice`() {
    var seen = Set<String>()
    for entry in FindingCatalogue.all {
      #expect(seen.insert(entry.code).inserted, "\(entry.code)")
      #expect(!entry.meaning.isEmpty && !entry.advice.isEmpty, "\(entry.code)")
      #expect(FindingCatalogue[entry.code]?.code == entry.code)
    }
  }
}
