import Posture
import PostureSQLite

extension SQLiteHistory {
  public func prune(before: Int64) throws(HistoryError) -> Int {
    do throws(SQLiteError) {
      return try database.transaction { () throws(SQLiteError) in
        try database.prepare("DELETE FROM trend WHERE at < ?").run([.integer(before)])
        try database.prepare("DELETE FROM contradiction WHERE received < ?").run([.integer(before)])
        let forgotten = try pruneMessages(before: before)
        try pruneCredentials(before: before)
        try pruneRemarks(before: before)
        return forgotten
      }
    } catch { throw HistoryError(error) }
  }

  /// Of each device there stay the newest report, which tells an older one from it, and the one that its verdict began with.
  private func pruneMessages(before: Int64) throws(SQLiteError) -> Int {
    let isOld = "received < ? AND NOT \(Self.isCredential)"
    var devices: [String] = []
    try database.prepare("SELECT DISTINCT device FROM message WHERE \(isOld)").run([.integer(before)]) { row in
      row.text(0).map { devices.append($0) }
      return true
    }
    let delete = try database.prepare("DELETE FROM message WHERE \(isOld) AND device = ? AND rowid NOT IN (?, ?)")
    var forgotten = 0
    for device in devices {
      let reports = try lastReports(of: device)
      let newest = reports.max { $0.value < $1.value }
      let first = try newest.flatMap { newest throws(SQLiteError) in
        try beginning(of: newest.key, device, after: reports)
      }
      try delete.run([
        .integer(before), .text(device), .integer(newest?.value.row ?? -1), .integer(first?.row ?? -1),
      ])
      forgotten += database.changes
    }
    return forgotten
  }

  private func pruneCredentials(before: Int64) throws(SQLiteError) {
    let signed = "WHERE signed.kid = message.kid AND NOT signed.\(Self.isCredential)"
    try database.prepare(
      """
      DELETE FROM message WHERE received < ? AND \(Self.isCredential)
        AND NOT EXISTS (SELECT 1 FROM message signed \(signed))
        AND NOT EXISTS (SELECT 1 FROM contradiction signed \(signed))
      """
    ).run([.integer(before)])
  }

  /// A breach that was accepted or is over goes with what ended it; an open one stays. So does an acknowledgement as long
  /// as there is something before it, which it is about.
  private func pruneRemarks(before: Int64) throws(SQLiteError) {
    try database.prepare(
      """
      DELETE FROM remark WHERE at < ?1 AND number IN (SELECT early.number FROM remark early JOIN remark late ON
        late.device = early.device AND late.number > early.number AND late.at < ?1
        AND late.what IN (?2, early.what || ' over'))
      """
    ).run([.integer(before), .text(HistoryRemark.acknowledged)])
    try database.prepare(
      """
      DELETE FROM remark WHERE at < ?1 AND (what = ?2 OR what LIKE '% over' OR what = ?3 AND NOT EXISTS (
        SELECT 1 FROM message WHERE message.device = remark.device AND received <= remark.at
          AND NOT \(Self.isCredential)))
      """
    ).run([.integer(before), .text(HistoryRemark.unstored), .text(HistoryRemark.acknowledged)])
  }
}
